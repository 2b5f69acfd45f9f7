/* Loaded into Debian's cron: its clock goes on only by what it sleeps, and a job is a line in $OUT, not a process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static time_t now, end;
static pid_t daemon_pid;
static int out;

__attribute__((constructor)) static void start(void) {
  now = atol(getenv("FROM"));
  end = atol(getenv("TO"));
  out = open(getenv("OUT"), O_WRONLY | O_APPEND | O_CREAT, 0644);
  daemon_pid = getpid();
}

time_t time(time_t *at) { return at == NULL ? now : (*at = now); }

/* It rests for 10 s between the jobs that it makes up for: they count for the minute in which it began. */
unsigned sleep(unsigned seconds) {
  now += seconds == 10 ? 0 : seconds;
  if (now > end) _exit(0);
  return 0;
}

pid_t fork(void) {
  if (getpid() != daemon_pid) return 0;
  signal(SIGCHLD, SIG_IGN);
  return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}

/* The process of a job logs its command right before it would run it. */
void __syslog_chk(int priority, int flag, const char *format, ...) {
  char line[2048];
  va_list given;
  va_start(given, format);
  int length = snprintf(line, 24, "%ld ", (long)now);
  length += vsnprintf(line + length, 2000, format, given);
  line[length++] = '\n';
  if (getpid() != daemon_pid) {
    write(out, line, length);
    _exit(0);
  }
  write(2, line, length);
}

int pam_start(const char *a, const char *b, const void *c, void **d) { return *d = NULL, 0; }
int pam_set_item(void) { return 0; }
int pam_acct_mgmt(void) { return 0; }
int pam_setcred(void) { return 0; }
int pam_open_session(void) { return 0; }
FILE *tmpfile(void) { return fopen("/dev/null", "w"); }
