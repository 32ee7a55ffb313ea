/* The peer of the bench `uring`: gathered writes as a C program makes them with liburing, without a library of its own.
 *
 * Each list is an array of `struct iovec`. A transfer passes the array to the kernel and consumes it. With copies, it first
 * makes a copy, as a program does that keeps its segments in another form.
 *
 * Built by the bench: cc -O2 -shared -fPIC liburing_peer.c -luring */

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct transfer {
    struct iovec *next; /* the entries that were not written */
    unsigned left;      /* their number */
    long long offset;   /* of the next byte, or -1 for the position of the descriptor */
    size_t bytes;       /* that were not written */
    struct iovec *copy; /* of the list, or NULL */
};

struct peer {
    struct io_uring ring;
    unsigned depth;
    int failed;
    unsigned lists;
    unsigned count;          /* of the segments of a list */
    struct iovec *segments;  /* of all lists, one after another */
    size_t list_bytes;
    struct transfer *transfers;
    unsigned *free_places;
    unsigned free_count;
};

void peer_close(struct peer *peer)
{
    if (peer == NULL)
        return;
    /* The kernel cancels what is in flight, but later: after an error, memory that it may read is not freed. */
    io_uring_queue_exit(&peer->ring);
    if (peer->failed)
        return;
    for (unsigned at = 0; at < peer->depth; at++)
        free(peer->transfers[at].copy);
    free(peer->segments);
    free(peer->transfers);
    free(peer->free_places);
    free(peer);
}

/* A ring of this depth for `lists` lists of `count` segments. After an error: NULL, and *error is the cause. */
struct peer *peer_open(unsigned depth, unsigned lists, unsigned count, int copies, int *error)
{
    struct peer *peer = calloc(1, sizeof *peer);
    *error = ENOMEM;
    if (peer == NULL)
        return NULL;
    int result = io_uring_queue_init(depth, &peer->ring, 0);
    if (result < 0) {
        *error = -result;
        free(peer);
        return NULL;
    }
    peer->lists = lists;
    peer->count = count;
    peer->segments = calloc((size_t)lists * count, sizeof *peer->segments);
    peer->transfers = calloc(depth, sizeof *peer->transfers);
    peer->free_places = calloc(depth, sizeof *peer->free_places);
    if (peer->segments == NULL || peer->transfers == NULL || peer->free_places == NULL)
        goto failed;
    peer->depth = depth;
    for (unsigned at = 0; at < depth; at++) {
        peer->free_places[peer->free_count++] = depth - 1 - at;
        if (!copies)
            continue;
        peer->transfers[at].copy = malloc(count * sizeof(struct iovec));
        if (peer->transfers[at].copy == NULL)
            goto failed;
    }
    return peer;
failed:
    peer_close(peer);
    return NULL;
}

/* Makes all lists of these segments. */
void peer_fill(struct peer *peer, const struct iovec *segments)
{
    peer->list_bytes = 0;
    for (unsigned at = 0; at < peer->count; at++)
        peer->list_bytes += segments[at].iov_len;
    for (unsigned list = 0; list < peer->lists; list++)
        for (unsigned at = 0; at < peer->count; at++)
            peer->segments[(size_t)list * peer->count + at] = segments[at];
}

static void submit(struct peer *peer, int fd, unsigned at)
{
    struct transfer *transfer = &peer->transfers[at];
    struct io_uring_sqe *sqe = io_uring_get_sqe(&peer->ring); /* as many as there are transfers */
    io_uring_prep_writev(sqe, fd, transfer->next, transfer->left, transfer->offset);
    io_uring_sqe_set_data64(sqe, at);
}

/* Returns 1 if the transfer has ended, 0 if it was submitted again, and a negative error. */
static int ended(struct peer *peer, int fd, unsigned at, int result)
{
    struct transfer *transfer = &peer->transfers[at];
    if (result == -EINTR || result == -EAGAIN) {
        submit(peer, fd, at);
        return 0;
    }
    if (result <= 0)
        return result < 0 ? result : -EIO;
    transfer->bytes -= result;
    if (transfer->bytes == 0)
        return 1;
    if (transfer->offset >= 0)
        transfer->offset += result;
    while ((size_t)result >= transfer->next->iov_len) {
        result -= transfer->next->iov_len;
        transfer->next++;
        transfer->left--;
    }
    transfer->next->iov_base = (char *)transfer->next->iov_base + result;
    transfer->next->iov_len -= result;
    submit(peer, fd, at);
    return 0;
}

static int fail(struct peer *peer, int error)
{
    peer->failed = 1;
    return error;
}

/* Writes all lists, `depth` of them at a time: at the offsets 0, list_bytes, ... of `places` places in turn, or at the
 * position if `places` is 0. Returns 0 or an error of errno(3). */
int peer_write(struct peer *peer, int fd, unsigned places)
{
    unsigned submitted = 0, done = 0;
    while (done < peer->lists) {
        while (submitted < peer->lists && peer->free_count > 0) {
            unsigned at = peer->free_places[--peer->free_count];
            struct transfer *transfer = &peer->transfers[at];
            struct iovec *segments = &peer->segments[(size_t)submitted * peer->count];
            if (transfer->copy != NULL) {
                for (unsigned to = 0; to < peer->count; to++)
                    transfer->copy[to] = segments[to];
                segments = transfer->copy;
            }
            transfer->next = segments;
            transfer->left = peer->count;
            transfer->bytes = peer->list_bytes;
            transfer->offset = places == 0 ? -1 : (long long)(submitted % places * transfer->bytes);
            submit(peer, fd, at);
            submitted++;
        }
        int result = io_uring_submit_and_wait(&peer->ring, 1);
        if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY)
            return fail(peer, -result);
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&peer->ring, head, cqe) {
            unsigned at = (unsigned)io_uring_cqe_get_data64(cqe);
            seen++;
            result = ended(peer, fd, at, cqe->res);
            if (result < 0)
                return fail(peer, -result);
            if (result == 1) {
                peer->free_places[peer->free_count++] = at;
                done++;
            }
        }
        io_uring_cq_advance(&peer->ring, seen);
    }
    return 0;
}
