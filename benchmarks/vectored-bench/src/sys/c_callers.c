/* Programs of C that write a list: by the C library of this project, and by hand.
 *
 * Built by the bench: cc -O2 -shared -fPIC c_callers.c */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vectored.h>

enum technique { GATHER, WRITEV, FWRITE };

/* The functions of the library, which the bench contains. */
struct library {
    vectored_gather *(*gather_new)(void);
    void (*gather_free)(vectored_gather *);
    ssize_t (*gather_write)(vectored_gather *, int, const struct iovec *, size_t, size_t *);
};

struct caller {
    enum technique technique;
    struct library library;
    vectored_gather *gather;
    FILE *file;
    char *buffer;
    struct iovec *rest;
};

enum { BUFFER_BYTES = 1 << 18, IOV_LIMIT = 1024 };

void caller_close(struct caller *caller)
{
    if (caller == NULL)
        return;
    if (caller->gather != NULL)
        caller->library.gather_free(caller->gather);
    if (caller->file != NULL)
        fclose(caller->file);
    free(caller->buffer);
    free(caller->rest);
    free(caller);
}

/* A caller for a descriptor and lists of up to `most` segments, or NULL with errno. */
struct caller *caller_open(int technique, const struct library *library, int fd, size_t most)
{
    struct caller *caller = calloc(1, sizeof *caller);
    if (caller == NULL)
        return NULL;
    caller->technique = (enum technique)technique;
    caller->library = *library;
    int is_open = 0;
    if (technique == GATHER) {
        caller->gather = library->gather_new();
        is_open = caller->gather != NULL;
    } else if (technique == WRITEV) {
        caller->rest = calloc(most + 1, sizeof *caller->rest);
        is_open = caller->rest != NULL;
    } else {
        int copy = dup(fd);
        caller->buffer = malloc(BUFFER_BYTES);
        caller->file = copy < 0 ? NULL : fdopen(copy, "wb");
        is_open = caller->buffer != NULL && caller->file != NULL &&
                  setvbuf(caller->file, caller->buffer, _IOFBF, BUFFER_BYTES) == 0;
    }
    if (is_open)
        return caller;
    int why = errno;
    caller_close(caller);
    errno = why;
    return NULL;
}

/* The loop that a program writes by hand: it resumes after a short call, in a copy of the list. */
static int write_by_hand(struct caller *caller, int fd, const struct iovec *list, size_t count)
{
    struct iovec *next = caller->rest;
    memcpy(next, list, count * sizeof *list);
    while (count > 0) {
        ssize_t written = writev(fd, next, (int)(count < IOV_LIMIT ? count : IOV_LIMIT));
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return errno;
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

static int write_by_stdio(FILE *file, const struct iovec *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fwrite(list[i].iov_base, 1, list[i].iov_len, file) < list[i].iov_len)
            return errno;
    }
    return fflush(file) == 0 ? 0 : errno;
}

/* Writes a list. Returns 0 or the errno. */
int caller_send(struct caller *caller, int fd, const struct iovec *list, size_t count)
{
    switch (caller->technique) {
    case GATHER: {
        size_t done;
        return caller->library.gather_write(caller->gather, fd, list, count, &done) < 0 ? errno : 0;
    }
    case WRITEV:
        return write_by_hand(caller, fd, list, count);
    default:
        return write_by_stdio(caller->file, list, count);
    }
}
