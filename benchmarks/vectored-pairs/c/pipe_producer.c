/* Sends lines through a pipe to a process that sums their numbers. */
#include "common.h"
#include <sys/wait.h>
#include <unistd.h>

static char buffer[1 << 16];

static int consume(int from, const char *output)
{
    static char text[1 << 16];
    unsigned long sum = 0, number = 0;
    ssize_t got;
    while ((got = read(from, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (unsigned long)(text[i] - '0');
            } else {
                sum += number;
                number = 0;
            }
        }
    FILE *file = fopen(output, "w");
    if (!file || fprintf(file, "%lu\n", sum) < 0 || fclose(file))
        fail(output);
    return got < 0;
}

int main(int argc, char **argv)
{
    struct invocation call = parse_arguments(argc, argv);
    int ends[2], status;
    if (pipe(ends))
        fail("pipe");
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (!child) {
        close(ends[1]);
        return consume(ends[0], call.output);
    }
    close(ends[0]);
    FILE *pipe = fdopen(ends[1], "w");
    if (!pipe)
        fail("fdopen");
    if (call.after)
        setvbuf(pipe, buffer, _IOFBF, sizeof buffer);
    else
        setvbuf(pipe, NULL, _IONBF, 0);
    for (long line = 0; line < call.count; line++)
        fprintf(pipe, "event %ld at %ld.%03ld from sensor %ld\n", line, line / 1000, line % 1000,
                line % 17);
    if (fclose(pipe))
        fail("pipe");
    if (waitpid(child, &status, 0) < 0 || status)
        fail("the consumer failed");
    return 0;
}
