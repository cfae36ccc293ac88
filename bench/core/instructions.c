/*
 * instructions.c - see instructions.h.
 *
 * A child runs the work between two signals to itself, and its parent lets it
 * execute one instruction at a time.  The cost of the signals is counted once,
 * without any work, and subtracted.
 */
#define _GNU_SOURCE
#include "instructions.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void
nothing(void *arg)
{
	(void) arg;
}

static long
count(void (*work) (void *arg), void *arg)
{
	pid_t		child = fork();
	int			status;
	long		steps = 0;

	if (child == 0)
	{
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		work(arg);				/* once before: binds symbols and touches memory */
		raise(SIGSTOP);
		work(arg);
		raise(SIGSTOP);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return -1;
	for (;;)
	{
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child)
			return -1;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP)
			break;
		steps++;
	}
	ptrace(PTRACE_CONT, child, NULL, NULL);
	waitpid(child, &status, 0);
	return steps;
}

long
count_instructions(void (*work) (void *arg), void *arg)
{
	static long around;

	if (around == 0)
		around = count(nothing, NULL);
	return around < 0 ? -1 : count(work, arg) - around;
}
