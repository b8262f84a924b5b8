/*
** LuaJIT's internal layout: 2.1 for x86-64 in GC64 mode.
**
** An object reference is a plain 64-bit pointer there, a stack slot is 64
** bits with the type in the upper 17, and a frame takes two slots below its
** base: the function, and a link to the frame below it.
**
** vm/vm.c proves what it uses of this on the running VM; vm/type.c believes
** nothing that it did not meet in an object.
*/
#ifndef MP_LAYOUT_H
#define MP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define MP_LAYOUT	1

typedef uint64_t slot;		/* TValue. */

#define AT(type, p, ofs)	(*(type *)((char *)(p) + (ofs)))

enum {				/* Types of objects (gct). */
  GCT_STR = 4, GCT_UPVAL, GCT_THREAD, GCT_PROTO, GCT_FUNC, GCT_TRACE,
  GCT_CDATA, GCT_TAB, GCT_UDATA
};
#define OBJ_NEXT	0	/* Next object of the list that it is in. */
#define OBJ_MARKED	8	/* uint8_t: colour bits, 3 of them white. */
#define OBJ_GCT		9	/* uint8_t: type of object. */

#define TAB_ARRAY	16	/* slot *: the array part. */
#define TAB_NODE	40	/* The hash part. */
#define TAB_ASIZE	48	/* uint32_t: slots of the array part. */

#define STR_LEN		20	/* uint32_t */
#define STR_DATA	24

#define L_GLREF		16	/* lua_State: its global state. */
#define L_BASE		32	/* slot *: base of the running function. */
#define L_TOP		40	/* slot *: first free slot. */
#define L_MAXSTACK	48	/* slot *: last free slot. */
#define L_STACK		56	/* slot *: the lowest slot. */
#define L_CFRAME	80	/* Innermost C frame that runs this thread. */
#define L_SIZE		96

#define G_ALLOCF	0
#define G_ALLOCD	8
#define G_ROOT		40	/* The list of all objects but strings. */
#define G_SEARCH	1024	/* The words looked for lie before this. */
#define J_SEARCH	8192	/* Trace array and exit: before this. */

#define FUNC_FFID	10	/* uint8_t: 0 Lua, 1 C, else a builtin. */
#define FUNC_PC		32	/* Lua function: its first instruction. */
#define FUNC_C		40	/* C function: its address. */

#define UPVAL_V		32	/* slot *: what it refers to. */
#define UPVAL_SIZE	48

#define PT_SIZEBC	12	/* uint32_t: number of instructions. */
#define PT_SIZE		56	/* uint32_t: bytes in all. */
#define PT_CHUNKNAME	64	/* GCstr * */
#define PT_FIRSTLINE	72	/* int32_t */
#define PT_NUMLINE	76	/* int32_t */
#define PT_BC		104	/* The instructions follow the prototype. */

#define TR_NSNAP	10	/* uint16_t */
#define TR_NINS		12	/* uint32_t */
#define TR_IR		32	/* Instructions, constants below 0x8000. */
#define TR_NK		40	/* uint32_t: lowest constant. */
#define TR_SNAP		48
#define TR_SNAPMAP	56	/* uint32_t * */
#define TR_STARTPT	64
#define TR_STARTPC	72
#define TR_STARTINS	80
#define TR_SZMCODE	84	/* uint32_t */
#define TR_MCODE	88
#define TR_SPADJUST	102	/* uint16_t */
#define TR_NUMBER	104	/* uint16_t */
#define TR_MINSIZE	112

#define SNAP_SIZE	12
#define SNAP_MAPOFS	0	/* uint32_t */
#define SNAP_MCOFS	6	/* uint16_t: offset into the machine code. */
#define SNAP_NENT	10	/* uint8_t: slots that it lists. */

#define ENT_FRAME	0x010000	/* Entry of a frame's link. */
#define ENT_CONT	0x020000	/* Entry of a continuation. */
#define ENT_NORESTORE	0x040000	/* The slot is on the stack already. */

#define REF_NIL		0x7fff	/* The constant nil: its op is IR_KPRI. */

#define CF_NRES		8	/* int32_t */
#define CF_L		16
#define CF_PC		24
#define CF_PREV		32
#define CF_SIZE		80
#define CF_RAW(cf)	((char *)((uintptr_t)(cf) & ~(uintptr_t)3))

enum { VM_INTERP = ~0, VM_C = ~1, VM_GC = ~2, VM_EXIT = ~3, VM_LAST = ~6 };

enum {				/* Kinds of frame links. */
  LINK_C = 1, LINK_CONT = 2, LINK_VARG = 3
};
#define LINK_ISLUA(l)	(((l) & 3) == 0)
#define LINK_ISC(l)	(((l) & 3) == LINK_C)
#define LINK_ISCONT(l)	(((l) & 7) == LINK_CONT)
#define LINK_ISVARG(l)	(((l) & 7) == LINK_VARG)
#define LINK_DELTA(l)	((l) & ~(uint64_t)7)
#define CONT_CALLBACK	1	/* Continuation of an FFI callback. */

#define TAG(v)		((int64_t)(v) >> 47)
#define PTR(v)		((char *)((v) & ((UINT64_C(1) << 47) - 1)))
#define TAGFUNC		(~(int64_t)GCT_FUNC)
#define TAGTHREAD	(~(int64_t)GCT_THREAD)
#define MKFUNC(p)	((uint64_t)(uintptr_t)(p) | (uint64_t)TAGFUNC << 47)
#define MKTHREAD(p)	((uint64_t)(uintptr_t)(p) | (uint64_t)TAGTHREAD << 47)

static inline uint8_t obj_gct(const void *o)
{
  return AT(uint8_t, o, OBJ_GCT);
}

/* A function in a frame: the prototype of a Lua function, or NULL. */
static inline const char *func_proto(const char *fn)
{
  return AT(uint8_t, fn, FUNC_FFID) ? NULL :
	 AT(const char *, fn, FUNC_PC) - PT_BC;
}

/* Equal for equal functions; closures of one prototype are equal. */
static inline uint64_t func_id(const char *fn)
{
  uint8_t ffid = AT(uint8_t, fn, FUNC_FFID);
  if (ffid == 0) return AT(uint64_t, fn, FUNC_PC);
  return AT(uint64_t, fn, FUNC_C) ^ (uint64_t)ffid << 56;
}

static inline bool is_lua(slot v)
{
  return TAG(v) == TAGFUNC && AT(uint8_t, PTR(v), FUNC_FFID) == 0;
}

/* The slot of the link of the frame below. */
static inline slot *frame_prev(slot *frame)
{
  uint64_t link = *frame;
  if (LINK_ISLUA(link))  /* The call instruction tells where its base is. */
    return frame - (2 + AT(uint8_t, link, -4 + 1));
  return (slot *)((char *)frame - LINK_DELTA(link));
}

#endif
#endif
