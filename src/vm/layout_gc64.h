/* SPDX-License-Identifier: MIT */
/*
** Part of vm/layout.h: LuaJIT 2.1 in GC64 mode.
**
** An object reference is a plain 64-bit pointer, a stack slot has its type in
** the upper 17 bits, and a frame takes two slots below its base: the function,
** and a link to the frame below it.
*/
#ifndef MP_LAYOUT_GC64_H
#define MP_LAYOUT_GC64_H

#include <stdint.h>

typedef uint64_t gcref;		/* A reference, as it is stored. */
typedef uint64_t gcsize;	/* A number of bytes of the collector's. */

#define OBJ_NEXT	0	/* Next object of the list that it is in. */
#define OBJ_MARKED	8	/* uint8_t: colour bits, 3 of them white. */
#define OBJ_GCT		9	/* uint8_t: type of object. */

#define TAB_ARRAY	16	/* The array part: slots. */
#define TAB_NODE	40	/* The hash part. */
#define TAB_ASIZE	48	/* uint32_t: slots of the array part. */
#define TAB_HMASK	52	/* uint32_t: nodes - 1; 0: no nodes. */

#define STR_LEN		20	/* uint32_t: the length, */
#define STR_DATA	24	/* and the text. */
#define STR_OLDLEN	16	/* Builds before June 2020 have them there. */
#define STR_OLDDATA	24

#define L_STATUS	11	/* uint8_t: as lua_status returns it. */
#define L_GLREF		16	/* lua_State: its global state. */
#define L_BASE		32	/* slot *: base of the running function. */
#define L_TOP		40	/* slot *: first free slot. */
#define L_MAXSTACK	48	/* Last free slot. */
#define L_STACK		56	/* The lowest slot. */
#define L_OPENUPVAL	64	/* List of open upvalues. */
#define L_CFRAME	80	/* Innermost C frame that runs this thread. */
#define L_STACKSIZE	88	/* uint32_t: slots. */
#define L_SIZE		96

#define G_WHITE		32	/* uint8_t: the current white. */
#define G_PHASE		33	/* uint8_t: the collector's phase. */
#define G_ROOT		40	/* The list of all objects but strings. */

#define VMSTATE_MAINL	8	/* From vmstate: the main thread, */
#define VMSTATE_TMPBUF	16	/* and the buffer for strings. */

#define FUNC_FFID	10	/* uint8_t: 0 Lua, 1 C, else a builtin. */
#define FUNC_PC		32	/* Lua function: its first instruction. */
#define FUNC_C		40	/* C function: its address, */
#define FUNC_CUPVALUES	48	/* and slots. */

#define UPVAL_TV	16	/* slot: its own, once it is closed. */
#define UPVAL_V		32	/* What it refers to. */
#define UPVAL_SIZE	48

#define PT_PARAMS	10	/* uint8_t: number of parameters. */
#define PT_SIZEBC	12	/* uint32_t: number of instructions. */
#define PT_K		32	/* Objects before it, numbers from it on. */
#define PT_SIZEKGC	48	/* uint32_t: number of those objects, */
#define PT_SIZEKN	52	/* uint32_t: and of those numbers. */
#define PT_SIZE		56	/* uint32_t: bytes in all. */
#define PT_CHUNKNAME	64	/* A string. */
#define PT_FIRSTLINE	72	/* int32_t */
#define PT_NUMLINE	76	/* int32_t */
#define PT_LINEINFO	80	/* Lines and names, to the end; or NULL. */
#define PT_BC		104	/* The instructions follow the prototype. */

#define TR_NSNAP	10	/* uint16_t */
#define TR_NINS		12	/* uint32_t */
#define TR_IR		32	/* Instructions, constants below 0x8000. */
#define TR_NK		40	/* uint32_t: lowest constant. */
#define TR_NSNAPMAP	44	/* uint32_t */
#define TR_SNAP		48
#define TR_SNAPMAP	56	/* uint32_t * */
#define TR_STARTPT	64	/* The prototype where it begins, */
#define TR_STARTPC	72	/* at that instruction, */
#define TR_STARTINS	80
#define TR_SZMCODE	84	/* uint32_t */
#define TR_MCODE	88
#define TR_MCLOOP	96	/* uint32_t: where the loop is in it, or 0. */
#define TR_SPADJUST	102	/* uint16_t */
#define TR_NUMBER	104	/* uint16_t */
#define TR_LINK		106	/* uint16_t: the trace that follows, or 0. */
#define TR_ROOT		108	/* uint16_t: its root, if it is not one. */
#define TR_MINSIZE	112
#define TR_LINKTYPE	116	/* uint8_t: how it ends (vm/jitstate.h). */

#define IRT_PART	9	/* A pointer into an object. */
#define IRT_WIDE(t)	((t) != IRT_INT) /* It has 64 bits. */
#define CONST_WIDE(op)	((op) == K_GC || (op) == K_PTR || (op) == K_KPTR || \
			 (op) == K_NUM || (op) == K_INT64)

#define PENALTY_SIZE	16
#define PENALTY_PC	0	/* gcref: the instruction, */
#define PENALTY_VALUE	8	/* uint16_t: grows with each attempt, */
#define PENALTY_REASON	10	/* uint16_t: of the last one; */

/* Words of a frame, from the slot of its link. */
#define FRAME_FUNC	(-1)	/* The function. */
#define FRAME_CONTPC	(-2)	/* Of a continuation: the PC below it, */
#define FRAME_CONT	(-3)	/* and what it is. */
#define FRAME_SLOTS	2	/* Slots of a frame below its base. */

#define TAG(v)		((int64_t)(v) >> 47)
#define PTR(v)		((char *)((v) & ((UINT64_C(1) << 47) - 1)))
#define MKTAG(tag, p)	((uint64_t)(uintptr_t)(p) | (uint64_t)(tag) << 47)
#define TAGNUM		(~(int64_t)13)	/* Numbers have this tag, or less. */

/* -- The whole heap (heapwalk/heap.c) -------------------------------------- */

#define G_MMUDATA	80	/* Ring of objects with a finalizer due. */
#define UPVAL_CLOSED	10	/* uint8_t */

#define TAB_NOMM	10	/* uint8_t: metamethods known to be absent. */
#define TAB_COLO	11	/* int8_t: slots behind it; 0x80: not in use. */
#define TAB_META	32
#define TAB_SIZE	64

#define UD_TYPE		10	/* uint8_t */
#define UD_ENV		16
#define UD_LEN		24	/* uint32_t */
#define UD_META		32
#define UD_DATA		48
#define SBUF_COWREF	32	/* In a buffer that is a userdata. */
#define SBUF_DICTS	48	/* Two tables. */
#define SBUF_SIZE	72

#define CD_TYPE		10	/* uint16_t: number of its C type. */
#define CD_SIZE		16
#define CT_SIZE		24	/* A C type: */
#define CT_NAME		16	/* a string, or NULL. */

#define FUNC_NUPVALUES	11	/* uint8_t */
#define FUNC_ENV	16
#define FUNC_UPVALUES	40	/* Lua: objects. */

#define L_ENV		72

#define PT_FRAMESIZE	11	/* uint8_t */
#define PT_SIZEUV	60	/* uint8_t */
#define PT_FLAGS	61	/* uint8_t */
#define PT_TRACE	62	/* uint16_t: its first root trace. */
#define PT_UVINFO	88	/* Names of upvalues, */
#define PT_VARINFO	96	/* and of locals, with where they live. */

#define TR_LINKS	106	/* uint16_t: linked trace, root, and the next */
#define TR_NEXTROOT	110	/* root */
#define TR_NEXTSIDE	112	/* and side trace. */
#define TR_SIZE		120

#endif
