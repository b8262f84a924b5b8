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

/* -- Nodes --------------------------------------------------------------- */

static void write_node(writing *w, int type, const char *label, uint64_t size,
		       uint32_t edges)
{
  fprintf(w->f, "%s%d,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",0,0",
	  w->first ? "" : ",\n", type, name(w, label),
	  (uint64_t)w->nnodes++ * 2 + 1, size, edges);
  w->first = false;
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

static void write_object(void *ud, uint32_t number, const void *o)
{
  writing *w = ud;
  char label[MP_LABEL_MAX];
  if (!mp_graph_reached(w->g, number)) return;
  mp_heap_describe(o, label, sizeof(label));
  write_node(w, type_of_node(mp_heap_type(o)), label,
	     mp_heap_size(w->h, o), count_edges(w, o));
}

static void place_object(void *ud, uint32_t number, const void *o)
{
  writing *w = ud;
  (void)o;
  if (mp_graph_reached(w->g, number)) w->place[number] = w->nnodes++;
}

/* Writes the nodes for the VM's own memory and for garbage. */
static void write_own(writing *w, const mp_heapown *own, uint64_t garbage)
{
  write_node(w, SYNTHETIC, "(held by nothing: not collected yet)", garbage, 0);
  write_node(w, SYNTHETIC, "(table of strings)", own->strtab, 0);
  write_node(w, SYNTHETIC, "(state of the VM)", own->state, 0);
  write_node(w, SYNTHETIC, "(buffer that strings are made in)", own->buffer, 0);
  write_node(w, SYNTHETIC, "(C types)", own->ctypes, 0);
  write_node(w, SYNTHETIC, "(compiler and others)", own->rest, 0);
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
  write_node(w, SYNTHETIC, "", 0, count_edges(w, NULL) + OWN);
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

char *mp_heapfile_make(mp_heap *h, mp_graph *g, const mp_heapown *own,
		       uint64_t garbage, size_t *len)
{
  writing w;
  char *text = NULL;
  uint32_t i;
  memset(&w, 0, sizeof(w));
  w.h = h;
  w.g = g;
  w.place = mp_calloc(g->n, sizeof(*w.place));
  w.f = open_memstream(&text, len);
  if (w.f != NULL && w.place != NULL) write_file(&w, own, garbage);
  else w.failed = true;
  if (w.f != NULL && (ferror(w.f) | fclose(w.f)) != 0) w.failed = true;
  for (i = 0; i < w.nlist; i++) free(w.list[i]);
  mp_free(w.list);
  mp_map_free(&w.names);
  mp_free(w.place);
  if (!w.failed) {
    format_counts(&w, text + sizeof(head) - 1);
    return text;
  }
  free(text);
  return NULL;
}
