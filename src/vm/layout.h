/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's internal layout: 2.1 in GC64 mode. What depends on the processor is
** in vm/machine.h.
**
** An object reference is a plain 64-bit pointer there, a stack slot is 64
** bits with the type in the upper 17, and a frame takes two slots below its
** base: the function, and a link to the frame below it.
**
** Every offset, size and bit of the VM has its name here and nowhere else.
** vm/prove.c proves the parts that are used on the running VM; vm/type.c checks
** them on each object. Offsets and sizes are in bytes unless the comment says
** otherwise.
*/
#ifndef MP_LAYOUT_H
#define MP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/machine.h"

typedef uint64_t slot;		/* TValue. */

#define AT(type, p, ofs)	(*(type *)((char *)(p) + (ofs)))

enum {				/* Types of objects (gct). */
  GCT_STR = 4, GCT_UPVAL, GCT_THREAD, GCT_PROTO, GCT_FUNC, GCT_TRACE,
  GCT_CDATA, GCT_TAB, GCT_UDATA
};
#define OBJ_NEXT	0	/* Next object of the list that it is in. */
#define OBJ_MARKED	8	/* uint8_t: colour bits, 3 of them white. */
#define OBJ_GCT		9	/* uint8_t: type of object. */
#define OBJ_WHITES	3	/* The two whites among the colour bits. */
#define OBJ_TYPES	16	/* Numbers of types are less than that. */

#define TAB_ARRAY	16	/* slot *: the array part. */
#define TAB_NODE	40	/* The hash part. */
#define TAB_ASIZE	48	/* uint32_t: slots of the array part. */

#define STR_LEN		20	/* uint32_t */
#define STR_DATA	24
#define STR_LENS	4	/* Older builds have it so much earlier. */
#define STR_SLACK	4	/* Bytes behind the text, at most. */

#define STRTAB_MASK	8	/* From the string table: uint32_t. */
#define BUF_END		(-8)	/* From a buffer's start: char *: its end, */
#define BUF_W		(-16)	/* and where it is written to. */
#define BUF_SIZE	16	/* From the write position to the start. */
#define VEC_N		8	/* From a vector: uint32_t: elements. */

#define L_STATUS	11	/* uint8_t: as lua_status returns it. */
#define L_GLREF		16	/* lua_State: its global state. */
#define L_BASE		32	/* slot *: base of the running function. */
#define L_TOP		40	/* slot *: first free slot. */
#define L_MAXSTACK	48	/* slot *: last free slot. */
#define L_STACK		56	/* slot *: the lowest slot. */
#define L_CFRAME	80	/* Innermost C frame that runs this thread. */
#define L_SIZE		96
#define L_EXTRA		64	/* Bytes that other versions add. */

/* The global state, from where it has the allocator, which is its beginning in
** most builds. */
#define G_ALLOCF	0	/* The allocator, */
#define G_ALLOCD	8	/* and its data. */
#define G_TOTAL		16	/* size_t: bytes that the collector counts. */
#define G_WHITE		32	/* uint8_t: the current white. */
#define G_PHASE		33	/* uint8_t: the collector's phase. */
#define G_PHASES	6	/* Number of its phases. */
#define G_ROOT		40	/* The list of all objects but strings. */
#define EMPTY_HOOKMASK	1	/* From the empty string's text: uint8_t. */
#define HOOK_VMEVENT	0x20	/* A handler of jit.attach runs. */
#define HOOK_GC		0x40	/* A finalizer runs. */
#define HOOK_PROFILE	0x80	/* The profiler wants a safepoint. */
#define MASK_MODE	1	/* From the mask: uint8_t: how instructions */
				/* are dispatched: */
#define MODE_INS	0x04	/* each one to a hook, */
#define MODE_PROF	0x40	/* that of the profiler. */
#define G_SEARCH	1024	/* The words looked for lie before this. */
#define J_SEARCH	8192	/* Trace array and exit: before this. */
#define J_ARRAY_SEARCH	4096	/* The trace array: before this. */

/* From a word of the global state that was found. */
#define VMSTATE_MAINL	8	/* From vmstate: the main thread. */
#define CURL_JITBASE	8	/* From cur_L: slot *: base of a trace. */
/* From vmstate in variants that do not have it before the main thread: */
#define VMSTATE_HOOKS	8	/* three functions or NULL, */
#define VMSTATE_CURL	40	/* and the running thread, or NULL. */
#define TRACES_FREE	8	/* From the trace array: uint32_t: a number, */
#define TRACES_SIZE	12	/* uint32_t: its elements; */
#define TRACES_END	16	/* what follows it. */
#define TRACES_MAX	65536	/* Elements that it may have. */
#define EXIT_NUMBER	4	/* From a parent's number to its exit's. */

#define FUNC_FFID	10	/* uint8_t: 0 Lua, 1 C, else a builtin. */
#define FFID_C		1
#define FUNC_PC		32	/* Lua function: its first instruction. */
#define FUNC_C		40	/* C function: its address. */

#define UPVAL_TV	16	/* slot: its own, once it is closed. */
#define UPVAL_V		32	/* slot *: what it refers to. */
#define UPVAL_SIZE	48

#define PT_PARAMS	10	/* uint8_t: number of parameters. */
#define PT_SIZEBC	12	/* uint32_t: number of instructions. */
#define PT_K		32	/* Objects before it, numbers from it on. */
#define PT_SIZEKGC	48	/* uint32_t: number of those objects, */
#define PT_SIZEKN	52	/* uint32_t: and of those numbers. */
#define PT_SIZE		56	/* uint32_t: bytes in all. */
#define PT_CHUNKNAME	64	/* GCstr * */
#define PT_FIRSTLINE	72	/* int32_t */
#define PT_NUMLINE	76	/* int32_t */
#define PT_LINEINFO	80	/* Lines and names, to the end; or NULL. */
#define PT_BC		104	/* The instructions follow the prototype. */
#define BC_SIZE		4	/* An instruction; its operand A is byte 1. */
#define BC_A		1
#define BC_TNEW		52	/* The compiler may change its operand D; */
#define BC_CALLM	65	/* from here on, the operation and D. */
#define BC_D		2	/* uint16_t */
#define BC_JLOOP	87	/* A compiled loop, or return: operand D is */
				/* the number of its trace. */
#define BC_ITERC	69	/* Traces may start at these, */
#define BC_ITERN	70
#define BC_FUNCF	89	/* from here, and at loops, */
#define BC_JFUNCV	94	/* to here. */
#define BC_FORL		79	/* The starts of traces that LuaJIT has given */
#define BC_IFORL	80	/* up for good: loops, */
#define BC_IITERL	83
#define BC_ILOOP	86
#define BC_IFUNCF	90	/* and functions. */
#define BC_IFUNCV	93
#define BC_RETM		73	/* Returns: from here on */
#define BC_RET0		75
#define BC_RET1		76	/* to here. */

#define TR_NSNAP	10	/* uint16_t */
#define TR_NINS		12	/* uint32_t */
#define TR_IR		32	/* Instructions, constants below 0x8000. */
#define TR_NK		40	/* uint32_t: lowest constant. */
#define TR_SNAP		48
#define TR_SNAPMAP	56	/* uint32_t * */
#define TR_STARTPT	64	/* GCproto *: where it begins, */
#define TR_STARTPC	72	/* at that instruction, */
#define TR_STARTINS	80
#define TR_SZMCODE	84	/* uint32_t */
#define TR_MCODE	88
#define TR_MCLOOP	96	/* uint32_t: where the loop is in it, or 0. */
#define TR_SPADJUST	102	/* uint16_t */
#define TR_NUMBER	104	/* uint16_t */
#define TR_LINK		106	/* uint16_t: the trace that follows, or 0. */
#define TR_LINKTYPE	116	/* uint8_t: how it ends (vm/jitstate.h). */
#define TR_MINSIZE	112
#define TR_INS0		0x8000	/* First instruction; below: constants. */

#define IR_SIZE		8
#define IR_OP1		0	/* uint16_t: operands; of a side trace's */
#define IR_OP2		2	/* first one: numbers of parent and exit. */
#define IR_TYPE		4	/* uint8_t: of the result, in these bits: */
#define IRT_TYPES	0x1f
#define IRT_P64		9	/* A pointer into an object. */
#define IRT_CDATA	10
#define IRT_TAB		11
#define IRT_INT		19
#define IR_OP		5	/* uint8_t */
#define IR_REG		6	/* uint8_t: register, or: */
#define REG_SUNK	0xfd	/* sunk, and in a snapshot. */
#define REG_NONE	32	/* Registers are less than that. */
#define IR_SPILL	7	/* uint8_t: where the stack has it, or 0. */
#define OP_COMPARES	10	/* Ops below this compare. */
#define OP_RETF		11	/* A return to a frame below the trace's. */
/* The distances of these ops before that of the constant nil. */
#define OP_LOOP		5
#define OP_PHI		3
#define OP_RENAME	2
#define OP_PROF		1

#define PENALTIES	64	/* Starts of traces given up: a ring of */
#define PENALTY_SIZE	16
#define PENALTY_PC	0	/* uint64_t: the instruction, */
#define PENALTY_VALUE	8	/* uint16_t: grows with each attempt, */
#define PENALTY_REASON	10	/* uint16_t: of the last one; */
#define PENALTY_NEXT	(PENALTIES * PENALTY_SIZE)  /* uint32_t: next entry. */

#define SNAP_SIZE	12
#define SNAP_ENTRIES	256	/* Fewer are in a snapshot. */
#define SNAP_MAPOFS	0	/* uint32_t */
#define SNAP_REF	4	/* uint16_t: the instruction behind it. */
#define SNAP_MCOFS	6	/* uint16_t: offset into the machine code, in */
				/* units of it. */
#define SNAP_NENT	10	/* uint8_t: slots that it lists. */
#define SNAP_COUNT	11	/* uint8_t: how often the exit was taken; or: */
#define SNAP_LINKED	255	/* a side trace begins there. */
#define SNAP_BASE(pcbase)	((uint32_t)((pcbase) & 0xff))
#define SNAP_PC(pcbase)		((pcbase) >> 8)

#define ENT_SLOT(e)	((e) >> 24)
#define ENT_REF(e)	((e) & 0xffff)

#define ENT_FRAME	0x010000	/* Entry of a frame's link. */
#define ENT_NORESTORE	0x040000	/* The slot is on the stack already. */

#define REF_NIL		0x7fff	/* The constant nil: its op is IR_KPRI. */
#define REF_CONST	0x7ffd	/* Constants with a value are below this. */

enum {				/* Ops of constants, from IR_KPRI on. */
  K_GC = 2, K_PTR = 3, K_KPTR = 4, K_NUM = 6, K_INT64 = 7
};

#define CF_RAW(cf)	((char *)((uintptr_t)(cf) & ~(uintptr_t)3))

enum { VM_INTERP = ~0, VM_C = ~1, VM_GC = ~2, VM_EXIT = ~3, VM_LAST = ~6 };

/* Words of a frame, from the slot of its link. */
#define FRAME_FUNC	(-1)	/* The function. */
#define FRAME_CONTPC	(-2)	/* Of a continuation: the PC below it, */
#define FRAME_CONT	(-3)	/* and what it is. */
#define FRAME_SLOTS	2	/* Slots of a frame below its base. */

enum {				/* Kinds of frame links. */
  LINK_C = 1, LINK_CONT = 2, LINK_VARG = 3
};
#define LINK_ISLUA(l)	(((l) & 3) == 0)
#define LINK_ISC(l)	(((l) & 3) == LINK_C)
#define LINK_ISCONT(l)	(((l) & 7) == LINK_CONT)
#define LINK_ISVARG(l)	(((l) & 7) == LINK_VARG)
#define LINK_ISPCALL(l)	(((l) & 6) == 6)
#define LINK_KIND	7	/* These bits tell the kind. */
#define LINK_DELTA(l)	((l) & ~(uint64_t)7)
#define CONT_CALLBACK	1	/* Continuation of an FFI callback. */

/* lua_Debug's i_ci: slots from the stack's first to the frame's link, and on
** to that of the frame above; 0: there is none. */
#define DEBUG_MAX	0xffff
#define DEBUG_CI(ofs, size)	((int)((unsigned)(size) << 16) + (ofs))

#define TAG(v)		((int64_t)(v) >> 47)
#define PTR(v)		((char *)((v) & ((UINT64_C(1) << 47) - 1)))
#define TAGFUNC		(~(int64_t)GCT_FUNC)
#define TAGTHREAD	(~(int64_t)GCT_THREAD)
#define MKFUNC(p)	((uint64_t)(uintptr_t)(p) | (uint64_t)TAGFUNC << 47)

/* -- The whole heap (heapwalk/heap.c) -------------------------------------- */

#define OBJ_FIXED	0x20	/* Never collected. */
#define OBJ_CDATAVAR	0x80	/* Cdata: a header lies before it. */
#define OBJ_ALIGN	8	/* Addresses are multiples of this. */

#define G_MMUDATA	80	/* Ring of objects with a finalizer due. */
#define VMSTATE_STRTAB	32	/* The string table lies that far before. */
#define VMSTATE_TMPBUF	16	/* From vmstate: the buffer for strings. */
#define STRTAB_CHAIN	UINT64_C(1)  /* A bit of a chain's head. */
#define JITBASE_CTSTATE	8	/* From jit_base: the FFI's state or NULL. */
/* Among the objects that the VM needs, after the names of events: */
#define ROOTS_BASEMT	14	/* metatables; */
#define ROOTS_IO	2	/* files; */
#define ROOTS_FIN	1	/* finalizers of cdata, in newer versions. */
#define ROOTS_NAMES	32	/* Names of events, at most. */

#define STR_ROUND	4	/* Sizes of strings are multiples of this. */
#define STR_SIZE(len, round) \
  (STR_DATA + (((len) + (round)) & ~((round) - UINT64_C(1))))

#define UPVAL_CLOSED	10	/* uint8_t */

#define TAB_NOMM	10	/* uint8_t: metamethods known to be absent. */
#define TAB_COLO	11	/* int8_t: slots behind it; 0x80: not in use. */
#define TAB_META	32
#define TAB_HMASK	52	/* uint32_t: nodes - 1; 0: no nodes. */
#define TAB_SIZE	64
#define TAB_COLOSIZE	0x7f
#define NODE_VAL	0	/* slot */
#define NODE_KEY	8	/* slot */
#define NODE_SIZE	24
#define MM_MODE		3	/* The event of weak tables. */

#define UD_TYPE		10	/* uint8_t */
#define UD_ENV		16
#define UD_LEN		24	/* uint32_t */
#define UD_META		32
#define UD_DATA		48
#define UD_BUFFER	3	/* Type of string.buffer's. */
#define SBUF_E		8	/* From a buffer: char *: its end, */
#define SBUF_B		16	/* and its start. */
#define SBUF_FLAGS	24	/* uint64_t */
#define SBUF_COW	2	/* A flag: the memory is a string's, */
#define SBUF_BORROW	4	/* or another buffer's. */
#define SBUF_COWREF	32
#define SBUF_DICTS	48	/* Two tables. */
#define SBUF_SIZE	72

#define CD_TYPE		10	/* uint16_t: number of its C type. */
#define CD_SIZE		16
#define CDV_OFFSET	(-8)	/* uint16_t: from the block's start. */
#define CDV_EXTRA	(-6)	/* uint16_t: bytes besides the data. */
#define CDV_LEN		(-4)	/* uint32_t: bytes of data. */

#define CTS_TAB		0	/* From the FFI's state: the C types, */
#define CTS_TOP		8	/* uint32_t: their number, */
#define CTS_SIZETAB	12	/* uint32_t: room for them; */
#define CTS_MAPS	32	/* two words, tables or not. */
#define CT_SIZE		24	/* A C type: */
#define CT_INFO		0	/* uint32_t: kind and child; */
#define CT_BYTES	4	/* uint32_t: sizeof. */
#define CT_KIND(info)	((info) >> 28)
#define CT_CHILD(info)	((info) & 0xffff)
#define CT_HASSIZE	5	/* Kinds up to this one have a size. */
#define CT_ATTRIB	8	/* Kind: an attribute of the child. */

#define FUNC_NUPVALUES	11	/* uint8_t */
#define FUNC_ENV	16
#define FUNC_UPVALUES	40	/* Lua: objects; C: */
#define FUNC_CUPVALUES	48	/* slots. */

#define L_OPENUPVAL	64	/* List of open upvalues. */
#define L_ENV		72
#define L_STACKSIZE	88	/* uint32_t: slots. */

#define PT_FRAMESIZE	11	/* uint8_t */
#define PT_SIZEUV	60	/* uint8_t */
#define PT_TRACE	62	/* uint16_t: its first root trace. */
#define PT_UVINFO	88	/* Names of upvalues, */
#define PT_VARINFO	96	/* and of locals, with where they live. */
#define VARNAMES	7	/* Names are bytes from this one on. */

#define TR_NSNAPMAP	44	/* uint32_t */
#define TR_LINKS	106	/* uint16_t: linked trace, root, and the next */
#define TR_ROOT		108	/* uint16_t: its root, if it is not one. */
#define TR_NEXTROOT	110	/* root */
#define TR_NEXTSIDE	112	/* and side trace. */
#define TR_SIZE		120
#define SNAPMAP_SIZE	4

/* LuaJIT's allocator: its state, segments, chunks (vm/arena.c). */
#define ARENA_TOP	32	/* The chunk at the end that is not in use. */
#define ARENA_SEGMENT	840	/* The first segment: */
#define SEG_BASE	0
#define SEG_SIZE	8
#define SEG_NEXT	16
#define SEG_ALIGN	4096	/* Both are multiples of this. */
#define CHUNK_HEAD	8	/* uint64_t: size, and these bits: */
#define CHUNK_BITS	UINT64_C(7)
#define CHUNK_INUSE	2
#define CHUNK_FENCE	11	/* Head of what ends a segment. */
#define CHUNK_MIN	32

#define TAGSTR		(~(int64_t)GCT_STR)
#define TAGTAB		(~(int64_t)GCT_TAB)
#define TAGCDATA	(~(int64_t)GCT_CDATA)
#define TAGNIL		(~(int64_t)0)
#define TAGNUM		(~(int64_t)13)	/* Numbers have this tag, or less. */
#define KEY_HOOK	UINT64_C(0x8000000000000068)  /* debug.sethook's. */
#define IS_NIL(v)	((v) == ~(slot)0)

/* Whether a slot holds an object. */
static inline bool is_object(slot v)
{
  return (uint64_t)(TAG(v) - TAGNUM) - 1 < (uint64_t)(TAGSTR - TAGNUM);
}

#ifdef MP_LAYOUT

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

/* Whether a block of that size may be a trace. */
static inline bool may_be_trace(const void *block, size_t size)
{
  return size >= TR_MINSIZE && obj_gct(block) == GCT_TRACE &&
	 AT(uint32_t, block, TR_NINS) >= TR_INS0 &&
	 AT(uint32_t, block, TR_NK) <= TR_INS0;
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
static inline slot *frame_prev(const slot *frame)
{
  uint64_t link = *frame;
  if (LINK_ISLUA(link))  /* The call instruction tells where its base is. */
    return (slot *)frame - (FRAME_SLOTS + AT(uint8_t, link, BC_A - BC_SIZE));
  return (slot *)((char *)frame - LINK_DELTA(link));
}

#endif
#endif
