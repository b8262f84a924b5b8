/* SPDX-License-Identifier: MIT */
/*
** The text of a .heapsnapshot. See heapwalk/file.h.
*/
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/file.h"
#include "heapwalk/name.h"

#define FIELDS		7	/* Numbers of a node. */
#define OWN		6	/* Nodes for the VM's memory and for garbage. */

/* Types of nodes and of edges, as the file's beginning lists them. */
enum { HIDDEN, ARRAY, STRING, OBJECT, CODE, CLOSURE, REGEXP, NUMBER, NATIVE,
       SYNTHETIC };
enum { CONTEXT, ELEMENT, PROPERTY, INTERNAL };

static const char head[] =
  "{\"snapshot\":{\"meta\":{"
  "\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\","
  "\"trace_node_id\",\"detachedness\"],"
  "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\","
  "\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\","
  "\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\","
  "\"object shape\"],\"string\",\"number\",\"number\",\"number\",\"number\","
  "\"number\"],"
  "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
  "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\","
  "\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"],"
  "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\","
  "\"script_id\",\"line\",\"column\"],"
  "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\","
  "\"children\"],"
  "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
  "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]},";

typedef struct writing {
  mp_heap *h;
  mp_graph *g;
  const mp_holders *lines;
  char **paths;			/* By line. */
  FILE *f;
  uint32_t *place;		/* By node: its place in the file, or 0. */
  uint32_t nnodes;		/* Nodes written, the root and the VM's. */
  uint64_t nedges;
  uint32_t count;		/* Edges of the node under way. */
  const char *from;		/* That node's object. */
  bool first;			/* The next element is the list's first. */
  mp_map names;			/* Hash of a name -> its number + 1. */
  char **list;			/* Names by number. */
  uint32_t nlist, caplist;
  bool failed;
} writing;

/* -- Names --------------------------------------------------------------- */

static uint32_t name(writing *w, const char *s)
{
  uint64_t hash = 1;
  uint32_t i;
  const char *p;
  for (p = s; *p != '\0'; p++) hash = mp_mix(hash, (unsigned char)*p);
  if ((i = mp_map_get(&w->names, hash)) != 0) return i - 1;
  if (!mp_mem_room(&w->list, w->nlist, &w->caplist, sizeof(*w->list))) {
    w->failed = true;
    return 0;
  }
  if ((w->list[w->nlist++] = strdup(s)) == NULL ||
      !mp_map_put(&w->names, hash, w->nlist))
    w->failed = true;
  return w->nlist - 1;
}

/* Names are spelled (vm/heapname.h), so that nothing but these is special. */
static void write_name(FILE *f, const char *s)
{
  putc('"', f);
  for (; *s != '\0'; s++) {
    if (*s == '"' || *s == '\\') putc('\\', f);
    putc(*s, f);
  }
  putc('"', f);
}

/* -- Paths --------------------------------------------------------------- */

#define PATH	200		/* Bytes of a path; a longer one loses its */
				/* beginning. */

/* Whether the line goes on with what the one above began, as the next object of
** a linked list does. */
static bool is_chained(const mp_holder *above, const mp_holder *l)
{
  return above->label != NULL && l->label != NULL && above->type == l->type &&
	 strcmp(above->label, l->label) == 0;
}

/* The last bytes of a text, from where a character begins. */
static const char *end_of(const char *s, size_t n)
{
  size_t len = strlen(s);
  if (len <= n) return s;
  s += len - n;
  while (((unsigned char)*s & 0xc0) == 0x80) s++;
  return s;
}

/* The path of a line: that of the line above with the label. From malloc; NULL:
** no memory. */
static char *make_path(const writing *w, uint32_t line)
{
  const mp_holder *l = &w->lines->lines[line];
  const char *above = w->paths[l->parent], *end;
  char buf[2 * PATH], path[PATH + 4];
  if (is_chained(&w->lines->lines[l->parent], l)) return mp_mem_string(above);
  snprintf(buf, sizeof(buf), "%s%s", above,
	   l->label != NULL ? end_of(l->label, PATH - 4) : "?");
  end = end_of(buf, PATH);
  snprintf(path, sizeof(path), "%s%.*s", end == buf ? "" : "...", PATH, end);
  return mp_mem_string(path);
}

static bool make_paths(writing *w)
{
  uint32_t i;
  w->paths = mp_calloc(w->lines->nlines, sizeof(*w->paths));
  if (w->paths == NULL || (w->paths[0] = mp_mem_string("")) == NULL)
    return false;
  for (i = 1; i < w->lines->nlines; i++)
    if ((w->paths[i] = make_path(w, i)) == NULL) return false;
  return true;
}

static void free_paths(writing *w)
{
  uint32_t i;
  for (i = 0; w->paths != NULL && i < w->lines->nlines; i++)
    mp_free(w->paths[i]);
  mp_free(w->paths);
}

/* Appends the path of the node's line, as a Lua program writes it. */
static void add_path(const writing *w, uint32_t node, char *buf, size_t n)
{
  static const char modules[] = "registry._LOADED", globals[] = "_G.";
  const char *path = w->paths[mp_holders_line(w->lines, node)];
  const char *start = "";
  size_t at = strlen(buf);
  if (strncmp(path, modules, sizeof(modules) - 1) == 0) {
    start = "package.loaded";
    path += sizeof(modules) - 1;
  } else if (strncmp(path, globals, sizeof(globals) - 1) == 0) {
    path += sizeof(globals) - 1;
  } else if (*path == ' ') {
    path++;
  }
  if (*start != '\0' || *path != '\0')
    snprintf(buf + at, n - at, " in %s%s", start, path);
}

/* -- Nodes --------------------------------------------------------------- */

/* DevTools read the number of a node as one of 32 bits, and odd ones as those
** of the program's objects. */
static uint32_t number_of(const writing *w, const void *o)
{
  return o != NULL ? (uint32_t)((uintptr_t)o >> 3) * 2 + 1 : w->nnodes * 2 + 1;
}

/* o: the object; or NULL. */
static void write_node(writing *w, int type, const char *label, uint64_t size,
		       uint32_t edges, const void *o)
{
  fprintf(w->f, "%s%d,%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",0,0",
	  w->first ? "" : ",\n", type, name(w, label), number_of(w, o), size,
	  edges);
  w->first = false;
  w->nnodes++;
}

static void count_edge(void *ud, const char *to, mp_how how, uint64_t detail)
{
  writing *w = ud;
  (void)how; (void)detail;
  if (mp_places_find(&w->h->places, to) != 0) w->count++;
}

static uint32_t count_edges(writing *w, const char *o)
{
  w->count = 0;
  mp_heap_edges(w->h, o, count_edge, w);
  w->nedges += w->count;
  return w->count;
}

static int type_of_node(const char *type)
{
  static const struct { const char *name; int type; } types[] = {
    { "string", STRING }, { "upvalue", HIDDEN }, { "proto", CODE },
    { "function", CLOSURE }, { "trace", CODE }, { "cdata", NATIVE },
    { "userdata", NATIVE }
  };
  size_t i;
  for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(type, types[i].name) == 0) return types[i].type;
  return OBJECT;
}

/* Appends the class of a userdata or cdata. */
static void add_class(const writing *w, const void *o, char *label)
{
  char class[MP_LABEL_MAX];
  mp_heap_class(w->h, o, class, sizeof(class));
  if (class[0] != '\0') strcat(strcat(label, " "), class);
}

static void write_object(void *ud, uint32_t number, const void *o)
{
  writing *w = ud;
  char label[2 * MP_LABEL_MAX + PATH + 32];
  int type = type_of_node(mp_heap_type(o));
  if (!mp_graph_reached(w->g, number)) return;
  mp_heap_describe(o, label, MP_LABEL_MAX);
  if (mp_heap_hasclass(o)) add_class(w, o, label);
  if (type == OBJECT || type == NATIVE)
    add_path(w, number, label, sizeof(label));
  write_node(w, type, label, mp_heap_size(w->h, o), count_edges(w, o), o);
}

static void place_object(void *ud, uint32_t number, const void *o)
{
  writing *w = ud;
  (void)o;
  if (mp_graph_reached(w->g, number)) w->place[number] = w->nnodes++;
}

static void write_part(writing *w, const char *label, uint64_t size)
{
  write_node(w, SYNTHETIC, label, size, 0, NULL);
}

/* Writes the nodes for the VM's own memory and for garbage. */
static void write_own(writing *w, const mp_heapown *own, uint64_t garbage)
{
  write_part(w, "(held by nothing: not collected yet)", garbage);
  write_part(w, "(table of strings)", own->strtab);
  write_part(w, "(state of the VM)", own->state);
  write_part(w, "(buffer that strings are made in)", own->buffer);
  write_part(w, "(C types)", own->ctypes);
  write_part(w, "(compiler and others)", own->rest);
}

/* -- Edges --------------------------------------------------------------- */

static void write_edge(writing *w, int type, uint32_t label, uint32_t place)
{
  fprintf(w->f, "%s%d,%" PRIu32 ",%" PRIu64, w->first ? "" : ",\n", type,
	  label, (uint64_t)place * FIELDS);
  w->first = false;
}

static int type_of_edge(mp_how how)
{
  switch (how) {
  case MP_BY_INDEX: return ELEMENT;
  case MP_BY_KEY: return PROPERTY;
  case MP_BY_UPVALUE: case MP_BY_SLOT: return CONTEXT;
  default: return INTERNAL;
  }
}

static void see_edge(void *ud, const char *to, mp_how how, uint64_t detail)
{
  writing *w = ud;
  uint32_t number = mp_places_find(&w->h->places, to);
  char label[MP_LABEL_MAX];
  const char *s = label;
  if (number == 0) return;
  mp_heap_label(w->h, w->from, how, detail, label, sizeof(label));
  while (*s == ' ' || *s == '.' || *s == '^') s++;
  write_edge(w, type_of_edge(how), how == MP_BY_INDEX ? (uint32_t)detail :
	     name(w, *s != '\0' ? s : "value"), w->place[number]);
}

static void write_edges(void *ud, uint32_t number, const void *o)
{
  writing *w = ud;
  if (!mp_graph_reached(w->g, number)) return;
  w->from = o;
  mp_heap_edges(w->h, o, see_edge, w);
}

/* -- The file ------------------------------------------------------------ */

static void write_nodes(writing *w, const mp_heapown *own, uint64_t garbage)
{
  w->nnodes = 0;
  w->first = true;
  fputs("\"nodes\":[", w->f);
  write_node(w, SYNTHETIC, "", 0, count_edges(w, NULL) + OWN, NULL);
  w->nedges += OWN;
  write_own(w, own, garbage);
  mp_places_each(&w->h->places, write_object, w);
  fputs("],\n", w->f);
}

static void write_all_edges(writing *w)
{
  uint32_t i;
  w->first = true;
  w->from = NULL;
  fputs("\"edges\":[", w->f);
  for (i = 1; i <= OWN; i++) write_edge(w, ELEMENT, i, i);
  mp_heap_edges(w->h, NULL, see_edge, w);
  mp_places_each(&w->h->places, write_edges, w);
  fputs("],\n", w->f);
}

static void write_names(writing *w)
{
  uint32_t i;
  fputs("\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],"
	"\"locations\":[],\n\"strings\":[", w->f);
  for (i = 0; i < w->nlist && !w->failed; i++) {
    if (i > 0) fputs(",\n", w->f);
    write_name(w->f, w->list[i]);
  }
  fputs("]}\n", w->f);
}

#define COUNTS		128	/* Bytes that the next function writes. */

/* The numbers of nodes and edges, in COUNTS bytes: they come before the nodes
** and the edges, but are known only after them. */
static void format_counts(const writing *w, char *to)
{
  int n = snprintf(to, COUNTS, "\"node_count\":%" PRIu32 ",\"edge_count\":%"
		   PRIu64 ",\"trace_function_count\":0,"
		   "\"extra_native_bytes\":0},", w->nnodes, w->nedges);
  memset(to + n, ' ', (size_t)(COUNTS - n));
}

static void write_file(writing *w, const mp_heapown *own, uint64_t garbage)
{
  char counts[COUNTS];
  w->nnodes = OWN + 1;
  mp_places_each(&w->h->places, place_object, w);
  fputs(head, w->f);
  format_counts(w, counts);
  fwrite(counts, 1, sizeof(counts), w->f);
  write_nodes(w, own, garbage);
  write_all_edges(w);
  write_names(w);
}

char *mp_heapfile_make(mp_heap *h, mp_graph *g, const mp_holders *lines,
		       const mp_heapown *own, uint64_t garbage, size_t *len)
{
  writing w;
  char *text = NULL;
  uint32_t i;
  memset(&w, 0, sizeof(w));
  w.h = h;
  w.g = g;
  w.lines = lines;
  w.place = mp_calloc(g->n, sizeof(*w.place));
  w.f = open_memstream(&text, len);
  if (w.f != NULL && w.place != NULL && make_paths(&w))
    write_file(&w, own, garbage);
  else w.failed = true;
  if (w.f != NULL && (ferror(w.f) | fclose(w.f)) != 0) w.failed = true;
  for (i = 0; i < w.nlist; i++) free(w.list[i]);
  mp_free(w.list);
  mp_map_free(&w.names);
  mp_free(w.place);
  free_paths(&w);
  if (!w.failed) {
    format_counts(&w, text + sizeof(head) - 1);
    return text;
  }
  free(text);
  return NULL;
}
