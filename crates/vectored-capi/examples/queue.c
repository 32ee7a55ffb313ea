/* Sends many messages through a non-blocking socket by few calls. Long messages are not copied: the queue calls a
 * function when it no longer needs a message. */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vectored.h>

enum { MESSAGES = 100, BODY_BYTES = 20000 };

static size_t released;

static void release(void *body)
{
    free(body);
    released++;
}

/* Writes until the queue is empty. */
static int flush(vectored_queue *queue, int fd)
{
    while (vectored_queue_len(queue) > 0) {
        if (vectored_queue_write_some(queue, fd) < 0) {
            struct pollfd ready = {fd, POLLOUT, 0};
            if (errno != EAGAIN || (poll(&ready, 1, -1) < 0 && errno != EINTR))
                return -1;
        }
    }
    return 0;
}

static int send_messages(int fd)
{
    vectored_queue *queue = vectored_queue_for_target(VECTORED_UNIX, 0);
    if (queue == NULL)
        return -1;
    int result = 0;
    for (int i = 0; i < MESSAGES && result == 0; i++) {
        char head[32];
        int head_bytes = snprintf(head, sizeof head, "message %d:", i);
        char *body = malloc(BODY_BYTES);
        if (body == NULL)
            return -1;
        memset(body, 'a' + i % 26, BODY_BYTES);
        vectored_queue_put(queue, head, (size_t)head_bytes);
        vectored_queue_push(queue, body, BODY_BYTES, release, body);
        if (vectored_queue_is_full(queue))
            result = flush(queue, fd);
    }
    if (result == 0)
        result = flush(queue, fd);
    vectored_queue_free(queue);
    return result;
}

int main(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        return 1;
    pid_t reader = fork();
    if (reader < 0)
        return 1;
    if (reader == 0) {
        /* Counts what arrives. */
        close(pair[0]);
        static char bytes[65536];
        size_t all = 0;
        ssize_t some;
        while ((some = read(pair[1], bytes, sizeof bytes)) > 0)
            all += (size_t)some;
        printf("%zu bytes arrived\n", all);
        return all > (size_t)MESSAGES * BODY_BYTES ? 0 : 1;
    }
    close(pair[1]);
    int sent = send_messages(pair[0]);
    close(pair[0]);
    int status = 1;
    waitpid(reader, &status, 0);
    return sent == 0 && status == 0 && released == MESSAGES ? 0 : 1;
}
