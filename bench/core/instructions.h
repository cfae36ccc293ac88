/*
 * instructions.h - how many instructions a piece of work takes, counted one by
 * one: works in a virtual machine without performance counters, and for
 * instruction sets that valgrind does not know (AVX-512).
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

/* -1 when the system does not let a process trace its child. */
extern long count_instructions(void (*work) (void *arg), void *arg);

#endif
