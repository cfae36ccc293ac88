/*
 * instructions.h - the number of instructions that a piece of work takes,
 * counted one by one.  This works in a virtual machine without performance
 * counters and for instruction sets that valgrind does not know (AVX-512).
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

/* Returns -1 if the system does not let a process trace its child. */
extern long count_instructions(void (*work) (void *arg), void *arg);

#endif
