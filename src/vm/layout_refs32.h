/* SPDX-License-Identifier: MIT */
/*
** Part of vm/layout.h: LuaJIT 2.1 with references of 32 bits, for i386 and for
** x86-64 without GC64.
**
** All of the VM's memory lies in the first four gigabytes. A stack slot has its
** type in the upper half, and a frame takes one slot below its base: the
** function in the lower half, and a link to the frame below it in the upper
** one. Some words of the VM are true pointers (WORD).
*/
#ifndef MP_LAYOUT_REFS32_H
#define MP_LAYOUT_REFS32_H

#include <stdint.h>

typedef uint32_t gcref;		/* A reference, as it is stored. */
typedef uint32_t gcsize;	/* A number of bytes of the collector's. */

#define OBJ_NEXT	0	/* As in vm/layout_gc64.h. */
#define OBJ_MARKED	4
#define OBJ_GCT		5

#define TAB_ARRAY	8
#define TAB_NODE	20
#define TAB_ASIZE	24
#define TAB_HMASK	28

#define STR_LEN		16
#define STR_DATA	20
#define STR_OLDLEN	12
#define STR_OLDDATA	16

#define L_STATUS	7
#define L_GLREF		8
#define L_BASE		16	/* True pointers, */
#define L_TOP		(L_BASE + WORD)
#define L_MAXSTACK	(L_TOP + WORD)
#define L_STACK		(L_MAXSTACK + 4)
#define L_OPENUPVAL	(L_MAXSTACK + 8)
#define L_CFRAME	(L_MAXSTACK + 16)  /* and so is this. */
#define L_STACKSIZE	(L_CFRAME + WORD)
#define L_SIZE		(L_CFRAME + 2 * WORD)

#define G_WHITE		(G_TOTAL + 8)
#define G_PHASE		(G_TOTAL + 9)
#define G_ROOT		(G_TOTAL + 16)

#define VMSTATE_MAINL	4
#define VMSTATE_TMPBUF	8

#define FUNC_FFID	6
#define FUNC_PC		16
#define FUNC_C		((20 + WORD - 1) & ~(WORD - 1))
#define FUNC_CUPVALUES	(FUNC_C + WORD)

#define UPVAL_TV	8
#define UPVAL_V		16
#define UPVAL_SIZE	24

#define PT_PARAMS	6
#define PT_SIZEBC	8
#define PT_K		16
#define PT_SIZEKGC	24
#define PT_SIZEKN	28
#define PT_SIZE		32
#define PT_CHUNKNAME	40
#define PT_FIRSTLINE	44
#define PT_NUMLINE	48
#define PT_LINEINFO	52
#define PT_BC		64

#define TR_NSNAP	6
#define TR_NINS		8
#define TR_IR		16	/* A true pointer. */
#define TR_NK		(TR_IR + WORD)
#define TR_NSNAPMAP	(TR_NK + 4)
#define TR_SNAP		(TR_NK + 8)	/* Two of them. */
#define TR_SNAPMAP	(TR_SNAP + WORD)
#define TR_STARTPT	(TR_SNAP + 2 * WORD)
#define TR_STARTPC	(TR_STARTPT + 4)
#define TR_STARTINS	(TR_STARTPT + 8)
#define TR_SZMCODE	(TR_STARTPT + 12)
#define TR_MCODE	(TR_STARTPT + 16)	/* One more. */
#define TR_MCLOOP	(TR_MCODE + WORD)
#define TR_SPADJUST	(TR_MCLOOP + 6)
#define TR_NUMBER	(TR_MCLOOP + 8)
#define TR_LINK		(TR_MCLOOP + 10)
#define TR_ROOT		(TR_MCLOOP + 12)
#define TR_MINSIZE	(TR_MCLOOP + 16)
#define TR_LINKTYPE	(TR_MCLOOP + 20)

#define IRT_PART	5
#define IRT_WIDE(t)	(1u << (t) & 0x604208) /* Light userdata, a pointer */
				/* of 64 bits, double, int64_t, uint64_t. */
#define CONST_WIDE(op)	((op) == K_NUM || (op) == K_INT64)

#define PENALTY_SIZE	8
#define PENALTY_PC	0
#define PENALTY_VALUE	4
#define PENALTY_REASON	6

/* Slots, from that of a frame's link: each has the halves of two words. */
#define FRAME_FUNC	0
#define FRAME_CONTPC	(-1)
#define FRAME_CONT	(-1)
#define FRAME_SLOTS	1

#define TAG(v)		((int64_t)(v) >> 32)
#define PTR(v)		((char *)(uintptr_t)(uint32_t)(v))
#define MKTAG(tag, p)	((uint64_t)(uint32_t)(uintptr_t)(p) | \
			 (uint64_t)(tag) << 32)
#define TAGNUM		(~(int64_t)13)

/* -- The whole heap (heapwalk/heap.c) -------------------------------------- */

#define G_MMUDATA	(G_TOTAL + 36)

#define UPVAL_CLOSED	6

#define TAB_NOMM	6
#define TAB_COLO	7
#define TAB_META	16
#define TAB_SIZE	32

#define UD_TYPE		6
#define UD_ENV		8
#define UD_LEN		12
#define UD_META		16
#define UD_DATA		24
#define SBUF_COWREF	(SBUF_FLAGS + 4)
#define SBUF_DICTS	(SBUF_COWREF + 4 + WORD)
#define SBUF_SIZE	((SBUF_DICTS + 12 + WORD - 1) & ~(WORD - 1))

#define CD_TYPE		6
#define CD_SIZE		8

#define CT_SIZE		16
#define CT_NAME		12

#define FUNC_NUPVALUES	7
#define FUNC_ENV	8
#define FUNC_UPVALUES	20

#define L_ENV		(L_MAXSTACK + 12)

#define PT_FRAMESIZE	7
#define PT_SIZEUV	36
#define PT_FLAGS	37
#define PT_TRACE	38
#define PT_UVINFO	56
#define PT_VARINFO	60

#define TR_LINKS	TR_LINK
#define TR_NEXTROOT	(TR_LINK + 4)
#define TR_NEXTSIDE	(TR_LINK + 6)
#define TR_SIZE		(TR_MCLOOP + 24)

#endif
