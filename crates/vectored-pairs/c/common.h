/* How the programs of the pairs are called: PROGRAM before|after DIRECTORY COUNT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    int after; /* whether it is the advised version */
    long count;
    char input[4096];
    char output[4096];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct call typed(int argc, char **argv)
{
    struct call call = {0};
    if (argc != 4 || (strcmp(argv[1], "before") && strcmp(argv[1], "after"))) {
        fprintf(stderr, "usage: %s before|after DIRECTORY COUNT\n", argv[0]);
        exit(2);
    }
    call.after = !strcmp(argv[1], "after");
    call.count = atol(argv[3]);
    snprintf(call.input, sizeof call.input, "%s/input", argv[2]);
    snprintf(call.output, sizeof call.output, "%s/output", argv[2]);
    return call;
}
