/* The claims of the header about threads and about the release of segments: handles go from thread to thread, a model is
 * shared, a forked process uses its copies, and each segment of a queue is released once, whatever happens to the
 * queue. */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vectored.h>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

enum { THREADS = 4, SEGMENTS = 3000, LONG = 10000 };

static char text[] = "0123456789";
static struct iovec list[SEGMENTS];
static vectored_cost_model *model;

/* Writes lists to a new pipe, with a new handle or without a handle. */
static void *write_lists(void *argument)
{
    size_t number = *(size_t *)argument, done = 0;
    vectored_gather *gather = vectored_gather_with_model(model);
    int null = open("/dev/null", O_WRONLY), pair[2];
    CHECK(gather != NULL && null >= 0 && pipe(pair) == 0);
    char back[1000];
    for (size_t turn = 0; turn < 100; turn++) {
        CHECK(vectored_write_all(null, list, SEGMENTS, &done) == SEGMENTS * 10 && done == SEGMENTS * 10);
        CHECK(vectored_gather_write_all(gather, null, list, SEGMENTS, &done) == SEGMENTS * 10);
        CHECK(vectored_gather_write_all(gather, pair[1], list, 20 + number, &done) >= 200);
        CHECK(read(pair[0], back, sizeof back) == (ssize_t)(200 + number * 10));
        CHECK(memcmp(back, "01234567890123456789", 20) == 0);
    }
    close(pair[0]);
    close(pair[1]);
    close(null);
    vectored_gather_free(gather);
    return NULL;
}

static void threads_with_a_model_in_common(void)
{
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, write_lists, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

struct handles {
    vectored_gather *gather;
    vectored_scatter *scatter;
    vectored_queue *queue;
    int pair[2];
};

static void *use_all(void *argument)
{
    struct handles *of = argument;
    char to[3][10], rest[20];
    struct iovec into[3] = {{to[0], 10}, {to[1], 10}, {to[2], 10}};
    size_t done = 0;
    CHECK(vectored_gather_write_all(of->gather, of->pair[1], list, 3, &done) == 30 && done == 30);
    CHECK(vectored_queue_put(of->queue, text, 10) == 0);
    CHECK(vectored_queue_write_all(of->queue, of->pair[1], &done) >= 10);
    CHECK(vectored_scatter_read_exact(of->scatter, of->pair[0], into, 3, &done) == 30);
    CHECK(memcmp(to[2], text, 10) == 0 && read(of->pair[0], rest, sizeof rest) == (ssize_t)20);
    /* The bytes are for the next thread. */
    CHECK(vectored_queue_put(of->queue, text, 10) == 0);
    return NULL;
}

/* The threads that used the handles before are gone. */
static void handles_go_from_thread_to_thread(void)
{
    struct handles handles = {vectored_gather_new(), vectored_scatter_new(), vectored_queue_new(), {0, 0}};
    CHECK(handles.gather != NULL && handles.scatter != NULL && handles.queue != NULL && pipe(handles.pair) == 0);
    CHECK(vectored_queue_put(handles.queue, text, 10) == 0);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_all, &handles) == 0 && pthread_join(thread, NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        use_all(&handles);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    use_all(&handles);
    vectored_gather_free(handles.gather);
    vectored_scatter_free(handles.scatter);
    vectored_queue_free(handles.queue);
    close(handles.pair[0]);
    close(handles.pair[1]);
}

enum { OWNED = 2000 };
static unsigned char released[OWNED];
static char *owned[OWNED];

static void release(void *context)
{
    size_t number = (size_t)((unsigned char *)context - released);
    released[number]++;
    free(owned[number]);
    owned[number] = NULL;
    errno = ENOTTY; /* The functions set their own. */
}

static void *push_all(void *argument)
{
    for (size_t i = 0; i < OWNED; i++) {
        size_t bytes = i % 5 == 0 ? 10 : LONG;
        owned[i] = malloc(bytes);
        CHECK(owned[i] != NULL);
        memset(owned[i], (int)(i % 251), bytes);
        CHECK(vectored_queue_push(argument, owned[i], bytes, release, &released[i]) == 0);
        /* Short segments are copied and released at once. */
        CHECK(released[i] == (bytes == 10));
    }
    return NULL;
}

/* One thread pushes segments. This thread ends the queue: `turn` chooses how. */
static void each_segment_is_released_once(int turn)
{
    vectored_queue *queue = vectored_queue_new();
    int pair[2];
    pthread_t thread;
    memset(released, 0, sizeof released);
    CHECK(queue != NULL && pipe(pair) == 0 && fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
    CHECK(pthread_create(&thread, NULL, push_all, queue) == 0 && pthread_join(thread, NULL) == 0);
    size_t all = vectored_queue_len(queue), done = 77, sum = 0;
    CHECK(all == OWNED / 5 * 10 + OWNED / 5 * 4 * (size_t)LONG);

    CHECK(vectored_queue_write_all(queue, pair[1], &done) == -1 && errno == EAGAIN);
    CHECK(done > 0 && vectored_queue_len(queue) == all - done);
    for (size_t i = 0; i < OWNED && sum < done; i++) {
        sum += i % 5 == 0 ? 10 : LONG;
        CHECK(released[i] == (i % 5 == 0 || sum <= done));
    }
    if (turn == 1)
        vectored_queue_clear(queue);
    if (turn == 2)
        CHECK(vectored_queue_advance(queue, vectored_queue_len(queue)) == 0);
    if (turn == 3) {
        close(pair[0]);
        CHECK(vectored_queue_write_some(queue, pair[1]) == -1 && errno == EPIPE);
        CHECK(vectored_queue_write_all(queue, -1, &done) == -1 && errno == EBADF && done == 0);
        CHECK(vectored_queue_len(queue) > 0);
    }
    if (turn == 1 || turn == 2)
        for (size_t i = 0; i < OWNED; i++)
            CHECK(released[i] == 1);
    vectored_queue_free(queue);
    for (size_t i = 0; i < OWNED; i++)
        CHECK(released[i] == 1 && owned[i] == NULL);
    if (turn != 3)
        close(pair[0]);
    close(pair[1]);
}

/* A size_t holds each length, but not the sum of the lengths. No byte is read. */
static void sums_that_no_number_holds(void)
{
    struct iovec longest[5];
    vectored_cursor cursor = {1, 0};
    size_t done = 77;
    for (size_t i = 0; i < 5; i++)
        longest[i] = (struct iovec){text, SSIZE_MAX};
    CHECK(vectored_cursor_remaining_bytes(&cursor, longest, 5) == SSIZE_MAX);
    CHECK(vectored_cursor_advance(&cursor, longest, 5, SIZE_MAX) == 0);
    CHECK(cursor.segment == 3 && cursor.offset == 1);
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK(vectored_pwrite_all(fileno(file), longest, 5, 0, &done) == -1 && errno == EINVAL && done == 0);
    CHECK(vectored_write_once(fileno(file), longest, 5, &done) == -1 && errno == EINVAL && done == 0);
    fclose(file);
}

int main(void)
{
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    for (size_t i = 0; i < SEGMENTS; i++)
        list[i] = (struct iovec){text, 10};
    model = vectored_cost_model_for_target(VECTORED_PIPE);
    CHECK(model != NULL);
    threads_with_a_model_in_common();
    handles_go_from_thread_to_thread();
    for (int turn = 0; turn < 4; turn++)
        each_segment_is_released_once(turn);
    sums_that_no_number_holds();
    vectored_cost_model_free(model);
    return 0;
}
