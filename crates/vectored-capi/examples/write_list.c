/* Writes an answer of several pieces to standard output: headers that are copied together, and a body that is not copied. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vectored.h>

static struct iovec piece(const char *text)
{
    struct iovec entry = {(void *)text, strlen(text)};
    return entry;
}

int main(void)
{
    struct iovec answer[] = {
        piece("HTTP/1.1 200 OK\r\n"),
        piece("Content-Type: text/plain\r\n"),
        piece("Content-Length: 6\r\n"),
        piece("\r\n"),
        piece("hello\n"),
    };
    size_t count = sizeof answer / sizeof *answer;
    size_t done;

    vectored_gather *gather = vectored_gather_new();
    if (gather == NULL) {
        perror("vectored_gather_new");
        return 1;
    }
    if (vectored_gather_write_all(gather, STDOUT_FILENO, answer, count, &done) < 0) {
        fprintf(stderr, "%zu bytes were written, then: %s\n", done, strerror(errno));
        vectored_gather_free(gather);
        return 1;
    }
    fprintf(stderr, "%zu bytes, by version %s\n", done, vectored_version_string());
    vectored_gather_free(gather);
    return 0;
}
