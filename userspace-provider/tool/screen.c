// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A terminal that is drawn upon: ANSI sequences, keys one by one, and as it was before whatever ends the program.
 */
#define _GNU_SOURCE /* ppoll() */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"

static struct termios before;
static bool on;
static volatile sig_atomic_t ending, resized, stopping;
static sigset_t outside;	/* the signals that are let in while we wait, and only then */

static void on_signal(int number)
{
	if (number == SIGWINCH || number == SIGCONT)
		resized = 1;
	else if (number == SIGTSTP)
		stopping = 1;
	else
		ending = number;
}

static void begin(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fputs("\033[?1049h\033[?25l", stdout);	/* another screen, no cursor */
	fflush(stdout);
	on = true;
}

void screen_end(void)
{
	if (!on)
		return;
	on = false;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

bool screen_begin(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGCONT, SIGWINCH };
	struct sigaction action = { .sa_handler = on_signal };
	const char *term = getenv("TERM");
	sigset_t ours;
	size_t i;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb") ||
	    tcgetattr(STDIN_FILENO, &before))
		return false;
	sigemptyset(&ours);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&ours, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &ours, &outside);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigdelset(&outside, signals[i]);
	atexit(screen_end);
	begin();
	return true;
}

void screen_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}

/* as the signal would have ended the program, had it not been ours: whoever started it can tell */
static void end_by(int number)
{
	sigset_t one;

	screen_end();
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void stop(void)
{
	screen_end();
	raise(SIGSTOP);
	begin();
}

int screen_key(int ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec wait = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	unsigned char key;
	int n;

	n = ppoll(&in, 1, &wait, &outside);
	if (ending)
		end_by(ending);
	if (stopping) {
		stopping = 0;
		stop();
		return SCREEN_RESIZED;
	}
	if (resized) {
		resized = 0;
		return SCREEN_RESIZED;
	}
	if (n < 0)
		return errno == EINTR ? SCREEN_RESIZED : SCREEN_GONE;
	if (!n)
		return SCREEN_NONE;
	return read(STDIN_FILENO, &key, 1) == 1 ? key : SCREEN_GONE;
}
