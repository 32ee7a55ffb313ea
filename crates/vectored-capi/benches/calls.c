/* Writes a list to /dev/null again and again, for a program that counts instructions: `cargo xtask instructions`.
 *
 *   calls --instructions gather|writev|fwrite BYTES SEGMENTS CALLS
 */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <vectored.h>

enum { MAX_SEGMENTS = 1024 };

static struct iovec list[MAX_SEGMENTS], rest[MAX_SEGMENTS];

/* The loop that a program writes by hand: it resumes after a short call, and changes a copy of the list. */
static int write_all_by_hand(int fd, size_t count)
{
    struct iovec *next = rest;
    memcpy(rest, list, count * sizeof *list);
    while (count > 0) {
        ssize_t written = writev(fd, next, (int)count);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        size_t left = (size_t)written;
        while (count > 0 && left >= next->iov_len) {
            left -= next->iov_len;
            next++;
            count--;
        }
        if (count > 0) {
            next->iov_base = (char *)next->iov_base + left;
            next->iov_len -= left;
        }
    }
    return 0;
}

static int write_by_stdio(FILE *file, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fwrite(list[i].iov_base, 1, list[i].iov_len, file) < list[i].iov_len)
            return -1;
    }
    return fflush(file);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const char *technique = argv[2];
    size_t bytes = strtoul(argv[3], NULL, 10), count = strtoul(argv[4], NULL, 10);
    unsigned long calls = strtoul(argv[5], NULL, 10);
    char *memory = calloc(count, bytes + 128);
    FILE *file = fopen("/dev/null", "wb");
    vectored_gather *gather = vectored_gather_new();
    if (memory == NULL || file == NULL || gather == NULL || count > MAX_SEGMENTS)
        return 1;
    /* The buffer holds all segments of a list, so one call writes them. */
    static char buffer[1 << 18];
    if (setvbuf(file, buffer, _IOFBF, sizeof buffer) != 0)
        return 1;
    for (size_t i = 0; i < count; i++) {
        list[i].iov_base = memory + i * (bytes + 64) + i * 7 % 64;
        list[i].iov_len = bytes;
    }
    int fd = fileno(file), outcome = 0;
    unsigned long call = 0;
    size_t done;
    if (strcmp(technique, "gather") == 0) {
        for (; call < calls && outcome == 0; call++)
            outcome = vectored_gather_write_all(gather, fd, list, count, &done) < 0 || done != bytes * count;
    } else if (strcmp(technique, "writev") == 0) {
        for (; call < calls && outcome == 0; call++)
            outcome = write_all_by_hand(fd, count);
    } else if (strcmp(technique, "fwrite") == 0) {
        for (; call < calls && outcome == 0; call++)
            outcome = write_by_stdio(file, count);
    }
    if (outcome != 0 || call < calls)
        return 1;
    vectored_gather_free(gather);
    fclose(file);
    free(memory);
    return 0;
}
