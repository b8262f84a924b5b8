/* SPDX-License-Identifier: MIT */
/*
** LuaJIT 2.1's internal layout. What depends on the processor is in
** vm/machine.h. Builds are of two kinds, which are described apart, under the
** same names: in GC64 mode (vm/layout_gc64.h), and with references of 32 bits
** (vm/layout_refs32.h, where MP_REFS32 is defined). On x86-64, where there are
** builds of both, the core is compiled for each.
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

#define WORD	((int)sizeof(void *))

#ifdef MP_REFS32
#include "vm/layout_refs32.h"
#else
#include "vm/layout_gc64.h"
#endif

#define AT(type, p, ofs)	(*(type *)((char *)(p) + (ofs)))

/* The address that a reference leads to, and a way to write one. */
#define REF(type, p, ofs)	((type)(uintptr_t)AT(gcref, p, ofs))
#define SET_REF(p, ofs, to)	(AT(gcref, p, ofs) = (gcref)(uintptr_t)(to))

enum {				/* Types of objects (gct). */
  GCT_STR = 4, GCT_UPVAL, GCT_THREAD, GCT_PROTO, GCT_FUNC, GCT_TRACE,
  GCT_CDATA, GCT_TAB, GCT_UDATA
};
#define OBJ_WHITES	3	/* The two whites among the colour bits. */
#define OBJ_TYPES	16	/* Numbers of types are less than that. */

#define NODE_VAL	0	/* slot */
#define NODE_KEY	8	/* slot */
#define NODE_SIZE	24

#define STR_SLACK	4	/* Bytes behind the text, at most. */

#define STRTAB_MASK	WORD	/* From the string table: uint32_t. */
#define STRTAB_CHAIN	UINT64_C(1) /* A bit of a chain's head. */
#define SBUF_E		WORD	/* From a buffer: char *: its end, */
#define SBUF_B		(2 * WORD)  /* and its start. */
/* The words of the VM's own buffers, where it writes, end and start, are
** references in older builds: one of n bytes. */
#define BUF_WORD(p, n)	((n) == sizeof(gcref) ? REF(const char *, p, 0) : \
			 AT(const char *, p, 0))
#define VEC_N		WORD	/* From a vector: uint32_t: elements. */

#define L_EXTRA		64	/* Bytes that other versions add. */

/* The global state, from where it has the allocator, which is its beginning in
** most builds. */
#define G_ALLOCF	0	/* The allocator, */
#define G_ALLOCD	WORD	/* and its data. */
#define G_TOTAL		(2 * WORD)  /* gcsize: bytes that are counted. */
#define G_PHASES	6	/* Number of its phases. */
#define EMPTY_HOOKMASK	1	/* From the empty string's text: uint8_t. */
#define HOOK_VMEVENT	0x20	/* A handler of jit.attach runs. */
#define HOOK_GC		0x40	/* A finalizer runs. */
#define HOOK_PROFILE	0x80	/* The profiler wants a safepoint. */
#define MASK_MODE	1	/* From the mask: uint8_t: how instructions */
				/* are dispatched: */
#define MODE_INS	0x04	/* each one to a hook, */
#define MODE_JIT	0x10	/* those of hot code to the compiler, */
#define MODE_PROF	0x40	/* that of the profiler. */
#define PROTO_NOJIT	0x08	/* Of PT_FLAGS: jit.off was called for it. */
#define G_SEARCH	1024	/* The words looked for lie before this. */
#define J_SEARCH	8192	/* Trace array and exit: before this. */
#define J_ARRAY_SEARCH	4096	/* The trace array: before this. */

/* From a word of the global state that was found. */
#define CURL_JITBASE	((int)sizeof(gcref))  /* From cur_L: base of a trace. */
#define JITBASE_CTSTATE	((int)sizeof(gcref))  /* From jit_base: the FFI's */
				/* state, or NULL. */
/* From vmstate in variants that do not have it before the main thread: */
#define VMSTATE_HOOKS	8	/* three functions or NULL, */
#define VMSTATE_CURL	(16 + 3 * WORD)  /* and the running thread, or NULL. */
#define TRACES_FREE	WORD	/* From the trace array: uint32_t: a number, */
#define TRACES_SIZE	(WORD + 4)  /* uint32_t: its elements; */
#define TRACES_END	(WORD + 8)  /* what follows it. */
#define TRACES_MAX	65536	/* Elements that it may have. */
#define EXIT_NUMBER	4	/* From a parent's number to its exit's. */

#define FFID_C		1

#define BC_SIZE		4	/* An instruction; its operand A is byte 1. */
#define BC_A		1
#define BC_ISEQS	6	/* With a constant: a string */
#define BC_ISNES	7
#define BC_ISEQN	8	/* or a number. */
#define BC_ISNEN	9
#define BC_ADDVN	22	/* A number, from here on */
#define BC_MODNV	31	/* to here. */
#define BC_KSTR		39
#define BC_KNUM		42
#define BC_USETV	46	/* Stores into upvalues, to here, */
#define BC_USETS	47
#define BC_USETN	48
#define BC_USETP	49
#define BC_GGET		54	/* With a string. */
#define BC_GSET		55
#define BC_TGETS	57
#define BC_TSETV	60	/* and into tables, to here. */
#define BC_TSETS	61
#define BC_TSETR	64
#define BC_TNEW		52	/* The compiler may change its operand D; */
#define BC_CALLM	65	/* from here on, the operation and D. */
#define BC_CALLMT	67	/* Tail calls. */
#define BC_CALLT	68
#define BC_D		2	/* uint16_t */
#define BC_JLOOP	87	/* A compiled loop, or return: operand D is */
				/* the number of its trace. */
#define BC_ITERC	69	/* Traces may start at these, at loops, */
#define BC_ITERN	70	/* and at functions. */
#define BC_FORL		79	/* The starts of traces that LuaJIT has given */
#define BC_IFORL	80	/* up for good. */
#define BC_IITERL	83
#define BC_ILOOP	86
#define FUNCF_V		(-3)	/* Functions, from the operation FUNCV on, */
#define IFUNCF_V	(-2)	/* whose number depends on the build. */
#define IFUNCV_V	1
#define JFUNCV_V	2
#define BC_RETM		73	/* Returns: from here on */
#define BC_RET0		75
#define BC_RET1		76	/* to here. */

#define TR_INS0		0x8000	/* First instruction; below: constants. */

#define IR_SIZE		8
#define IR_OP1		0	/* uint16_t: operands; of a side trace's */
#define IR_OP2		2	/* first one: numbers of parent and exit. */
#define IR_TYPE		4	/* uint8_t: of the result, in these bits: */
#define IRT_TYPES	0x1f
#define IRT_GUARD	0x80	/* The trace is left if it does not hold. */
#define IRT_ADDRESS	9	/* Of C memory, where that has 64 bits. */
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
				/* entries of PENALTY_SIZE; behind them */
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

#define ENT_SLOT(e)	((e) >> 24)
#define ENT_REF(e)	((e) & 0xffff)

#define ENT_FRAME	0x010000	/* Entry of a frame's link. */
#define ENT_CONT	0x020000	/* Of a continuation. */
#define ENT_NORESTORE	0x040000	/* The slot is on the stack already. */

#define REF_NIL		0x7fff	/* The constant nil: its op is IR_KPRI. */
#define REF_CONST	0x7ffd	/* Constants with a value are below this. */

enum {				/* Ops of constants, from IR_KPRI on. */
  K_GC = 2, K_PTR = 3, K_KPTR = 4, K_NUM = 6, K_INT64 = 7
};

#define CF_RAW(cf)	((char *)((uintptr_t)(cf) & ~(uintptr_t)3))

enum { VM_INTERP = ~0, VM_C = ~1, VM_GC = ~2, VM_EXIT = ~3, VM_LAST = ~6 };

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

#define TAGFUNC		(~(int64_t)GCT_FUNC)
#define TAGTHREAD	(~(int64_t)GCT_THREAD)
#define TAGSTR		(~(int64_t)GCT_STR)
#define TAGTAB		(~(int64_t)GCT_TAB)
#define TAGCDATA	(~(int64_t)GCT_CDATA)
#define TAGNIL		(~(int64_t)0)
#define MKFUNC(p)	MKTAG(TAGFUNC, p)
#define IS_NIL(v)	(TAG(v) == TAGNIL)

#define VMSTATE_STRTAB	32	/* The string table lies that far before. */

/* LuaJIT's allocator: its state, segments, chunks (vm/arena.c). */
#define ARENA_TOP	(8 + 3 * WORD)  /* The chunk at the end that */
				/* is not in use. */
#define ARENA_SEGMENT	(8 + 104 * WORD)  /* The first segment: */
#define SEG_BASE	0
#define SEG_SIZE	WORD
#define SEG_NEXT	(2 * WORD)
#define SEG_ALIGN	4096	/* Both are multiples of this. */
#define CHUNK_HEAD	WORD	/* uintptr_t: size, and these bits: */
#define CHUNK_DATA	(2 * WORD)
#define CHUNK_BITS	((uintptr_t)7)
#define CHUNK_INUSE	2
#define CHUNK_FENCE	((uintptr_t)(3 + WORD))  /* What ends a segment. */
#define CHUNK_MIN	(4 * WORD)

/* -- The whole heap (heapwalk/heap.c), where both kinds are alike ---------- */

#define OBJ_FIXED	0x20	/* Never collected. */
#define OBJ_CDATAVAR	0x80	/* Cdata: a header lies before it. */
#define OBJ_ALIGN	8	/* Addresses are multiples of this. */

/* Among the objects that the VM needs, after the names of events: */
#define ROOTS_BASEMT	14	/* metatables; */
#define ROOTS_IO	2	/* files; */
#define ROOTS_FIN	1	/* finalizers of cdata, in newer versions. */
#define ROOTS_NAMES	32	/* Names of events, at most. */
#define MM_MODE		3	/* The event of weak tables. */

#define STR_ROUND	4	/* Sizes of strings are multiples of this. */
#define STR_SIZE(data, len, round) \
  ((data) + (((len) + (round)) & ~((round) - UINT64_C(1))))

#define TAB_COLOSIZE	0x7f
#define VARNAMES	7	/* Names are bytes from this one on. */
#define SNAPMAP_SIZE	4

#define UD_CLIB		2	/* Type of what ffi.load returns, */
#define UD_BUFFER	3	/* and of string.buffer's. */
#define SBUF_FLAGS	(3 * WORD)  /* From a buffer: uint32_t: */
#define SBUF_COW	2	/* the memory is a string's, */
#define SBUF_BORROW	4	/* or another buffer's. */

#define CDV_OFFSET	(-8)	/* uint16_t: from the block's start. */
#define CDV_EXTRA	(-6)	/* uint16_t: bytes besides the data. */
#define CDV_LEN		(-4)	/* uint32_t: bytes of data. */

#define CTS_TAB		0	/* From the FFI's state: the C types, */
#define CTS_TOP		WORD	/* uint32_t: their number, */
#define CTS_SIZETAB	(WORD + 4)  /* uint32_t: room for them; */
#define CTS_MAPS	(3 * WORD + 8)  /* two words, tables or not. */
#define CT_INFO		0	/* Of a C type: uint32_t: kind and child; */
#define CT_BYTES	4	/* uint32_t: sizeof; or: */
#define CT_UNSIZED	UINT32_MAX  /* it has none. */
#define CT_SIB		8	/* uint16_t: of an enum: its first constant. */
#define CT_KIND(info)	((info) >> 28)
#define CT_CHILD(info)	((info) & 0xffff)
#define CT_NUM		0	/* Kinds: */
#define CT_STRUCT	1
#define CT_PTR		2
#define CT_ARRAY	3
#define CT_VOID		4
#define CT_ENUM		5
#define CT_HASSIZE	5	/* Kinds up to this one have a size. */
#define CT_FUNC		6
#define CT_TYPEDEF	7
#define CT_ATTRIB	8	/* Kind: an attribute of the child. */
#define CTF_BOOL	0x08000000u	/* A number that is a boolean, */
#define CTF_FP		0x04000000u	/* or has a fraction, */
#define CTF_UNSIGNED	0x00800000u	/* or no sign; */
#define CTF_VECTOR	0x08000000u	/* an array that is a vector, */
#define CTF_COMPLEX	0x04000000u	/* or a complex number; */
#define CTF_REF		0x00800000u	/* a pointer that is a reference; */
#define CTF_UNION	0x00800000u	/* a struct that is a union. */
#define CTF_CONST	0x02000000u

#define KEY_HOOK	UINT64_C(0x8000000000000068)  /* debug.sethook's. */

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
	 REF(const char *, fn, FUNC_PC) - PT_BC;
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
  if (ffid == 0) return AT(gcref, fn, FUNC_PC);
  return AT(uintptr_t, fn, FUNC_C) ^ (uint64_t)ffid << 56;
}

static inline bool is_lua(slot v)
{
  return TAG(v) == TAGFUNC && AT(uint8_t, PTR(v), FUNC_FFID) == 0;
}

/* -- Frames ---------------------------------------------------------------- */

/* A frame is known by the slot of its link. */

#ifdef MP_REFS32

static inline uint64_t frame_link(const slot *f) { return *f >> 32; }

/* The address of the function, or of what else is in its place. Nothing is read
** there. */
static inline const char *frame_object(const slot *f) { return PTR(*f); }

/* The function as a slot has it; 0: none. A frame of the VM's has a thread. */
static inline slot frame_func(const slot *f)
{
  const char *o = PTR(*f);
  return o == NULL ? 0 : MKTAG(~(int64_t)obj_gct(o), o);
}

/* Of a continuation: the PC below it, and what it is. */
static inline uint64_t frame_contpc(const slot *f) { return f[-1] >> 32; }
static inline uint64_t frame_cont(const slot *f) { return (uint32_t)f[-1]; }

static inline void set_link(slot *f, uint64_t link)
{
  *f = (uint32_t)*f | link << 32;
}

static inline void set_func(slot *f, slot func)
{
  *f = (uint32_t)func | (*f & ~(slot)UINT32_MAX);
}

static inline void set_cont(slot *f, uint64_t cont, uint64_t pc)
{
  f[-1] = cont | pc << 32;
}

#else

static inline uint64_t frame_link(const slot *f) { return *f; }

static inline const char *frame_object(const slot *f)
{
  return TAG(f[-1]) == TAGFUNC ? PTR(f[-1]) : NULL;
}

static inline slot frame_func(const slot *f) { return f[-1]; }

static inline uint64_t frame_contpc(const slot *f) { return f[-2]; }
static inline uint64_t frame_cont(const slot *f) { return f[-3]; }

static inline void set_link(slot *f, uint64_t link) { *f = link; }
static inline void set_func(slot *f, slot func) { f[-1] = func; }

static inline void set_cont(slot *f, uint64_t cont, uint64_t pc)
{
  f[-3] = cont;
  f[-2] = pc;
}

#endif

/* The call instruction that a Lua function's link tells has this operand A. */
static inline uint32_t link_a(uint64_t link)
{
  return AT(uint8_t, (uintptr_t)link, BC_A - BC_SIZE);
}

/* The slot of the link of the frame below. */
static inline slot *frame_prev(const slot *frame)
{
  uint64_t link = frame_link(frame);
  if (LINK_ISLUA(link))  /* The call instruction tells where its base is. */
    return (slot *)frame - (FRAME_SLOTS + link_a(link));
  return (slot *)((char *)frame - (size_t)LINK_DELTA(link));
}

/* The same of a stack that may be made up: its frames go down to the lowest. */
static inline const slot *frame_lower(const slot *frame, const slot *lowest)
{
  const slot *below = frame_prev(frame);
  return below < frame ? below : lowest;
}

/* The link of a stack's lowest frame, which is nobody's. */
static inline slot *frame_bottom(const void *thread)
{
  return REF(slot *, thread, L_STACK) + FRAME_SLOTS - 1;
}

/* The base of the frame above that one. */
static inline slot *lowest_base(const void *thread)
{
  return REF(slot *, thread, L_STACK) + FRAME_SLOTS;
}

#endif
#endif
