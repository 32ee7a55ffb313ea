// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Records, at the exit of system calls, what `vectored advise` needs.
 *
 * Each CPU has a ring of slots of 64 bytes in an array that user space maps. Programs of tracepoints run with preemption
 * off, so a ring has one producer. A record is one slot; the slots after a record hold its texts and lists. No program runs
 * at the entry of a call: the time that the thread was off its CPU (sched_switch) tells how long a call waited. The programs
 * need BTF, and Linux 5.8 or later. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;
enum { false, true };

/* Copied from the headers of Linux and libbpf, so that the object does not depend on their versions. */
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define INLINE static __attribute__((always_inline)) inline
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9, BPF_F_MMAPABLE = 1024, BPF_ANY = 0 };
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static u64 (*bpf_get_current_ancestor_cgroup_id)(int level) = (void *)123;
/* Reads a field of a structure of the kernel, through a pointer that the verifier does not know. */
#define PEEK(from, field) ({ __typeof__((from)->field) value = 0; bpf_probe_read_kernel(&value, sizeof value, &(from)->field); value; })

/* The fields that are read from the kernel's structures. arm64 was only compiled, never run. */
#if defined(__TARGET_ARCH_arm64)
struct pt_regs { u64 regs[31], sp, pc, pstate, orig_x0; int syscallno; } __attribute__((preserve_access_index));
#define NUMBER(r) (r)->syscallno
#define FIRST(r) (r)->orig_x0
#define ARGUMENT(r, n) (r)->regs[n]
#define IP(r) (r)->pc
#define SP(r) (r)->sp
#define FP(r) (r)->regs[29]
#define KEPT(s, r) (void)(r) /* also the link register */
#else
struct pt_regs { u64 r15, r14, r13, r12, bp, bx, r10, r9, r8, dx, si, di, orig_ax, ip, sp; } __attribute__((preserve_access_index));
#define NUMBER(r) (r)->orig_ax
#define FIRST(r) (r)->di
#define ARGUMENT_1 si
#define ARGUMENT_2 dx
#define ARGUMENT_3 r10
#define ARGUMENT_4 r8
#define ARGUMENT_5 r9
#define ARGUMENT(r, n) (r)->ARGUMENT_##n
#define IP(r) (r)->ip
#define SP(r) (r)->sp
#define FP(r) (r)->bp
#define KEPT(s, r) (s)->kept[0] = (r)->bx, (s)->kept[1] = (r)->r12, (s)->kept[2] = (r)->r13, (s)->kept[3] = (r)->r14, (s)->kept[4] = (r)->r15
#endif
#define RELOCATED __attribute__((preserve_access_index))
struct upid { int nr; } RELOCATED;
struct pid { u32 level; struct upid numbers[1]; } RELOCATED;
struct inode { unsigned long i_ino; } RELOCATED;
struct file { struct inode *f_inode; void *private_data; } RELOCATED;
struct fdtable { u32 max_fds; struct file **fd; } RELOCATED;
struct files_struct { struct fdtable *fdt; } RELOCATED;
struct in6_addr { u8 unused[16]; };
struct sock_common { u32 skc_daddr, skc_rcv_saddr; u16 skc_dport, skc_num, skc_family; struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; } RELOCATED;
struct sock { struct sock_common __sk_common; } RELOCATED;
struct socket { short type; struct sock *sk; } RELOCATED;
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; u32 flags; } RELOCATED;
struct mm_struct { u64 start_code; } RELOCATED;
struct sched_entity { u64 sum_exec_runtime; } RELOCATED;
struct task_struct {
	int pid, tgid, exit_code;
	struct sched_entity se;
	struct mm_struct *mm;
	struct files_struct *files;
	struct signal_struct *signal;
	struct pid *thread_pid;
	unsigned int __state;
} RELOCATED;
/* Before Linux 5.14 the field has this name. */
struct task_struct___5_13 { long state; } RELOCATED;
struct linux_binprm { struct file *file; const char *filename; } RELOCATED;

/* The numbers below are repeated in src/record.rs and src/calls.rs. */
enum kind { CALL, FORK, EXEC, EXIT, SIGNAL, RUN, GAP };
/* What is recorded of a call beyond its first four arguments. DROP: the call can neither move bytes nor be a barrier. */
enum class {
	DROP, PLAIN, READ, WRITE, PATH0, PATH1, PATH4, PATHS01, PATHS02, PATHS13, OPEN_HOW,
	/* From here on, all slots after a record hold data in place of texts. */
	IOV, IOV2, MESSAGE, MESSAGES, SENDTO, INTS0, INTS3, SPLICE, MMAP, SOCKET0, SOCKET_RESULT, INFO2, RING,
	/* From here on, the first slot after a record holds data. */
	STAT_FD, STAT_PATH, STAT_AT, STATX,
};
/* `stack` is the number of a sample, or 0. Before the record, the thread was preempted for `held_ms` in all. */
struct record { u64 end_ns; u32 waited_us, thread, process; u16 number, what; s64 result; int a0; u16 stack, held_ms; u64 a1, a2, a3; };
struct slot { u64 words[8]; };
_Static_assert(sizeof(struct record) == 64, "one slot");
/* The most calls of a run: consecutive calls of one thread on one descriptor, within one tick and without a wait. A run
 * holds their results. */
#define RUN_CALLS 40
/* The shortest preemption of a thread that is recorded. */
#define HELD_NS 1000000
#define UNJOINED 64
struct run { u64 end_ns; u32 waited_us, thread, process; u16 number, what; u32 span_ns, asked; int a0; u16 stack, held_ms, calls, most, results[RUN_CALLS]; };
_Static_assert(sizeof(struct run) == 128, "two slots");
#define WHAT(kind, extension) ((kind) << 12 | (extension))
#define ALL_DATA 2048
#define ONE_DATA 1024
#define TEXT_SLOTS 66 /* PATH_MAX, 63 bytes a slot */
#define LIST_SLOTS 256 /* 1,024 entries of 16 bytes */
#define MOST_SLOTS 300

const volatile u32 slots_log2 = 16, stack_every = 64;
/* Processes of this cgroup, and of the cgroups below it, are wanted. 0: only the processes in `wanted` are. */
const volatile u64 cgroup;
/* A call with `KEEPS` changes neither descriptors nor names. */
const volatile u8 class_of[512];
#define KEEPS 128
/* A change makes each CPU ask again whether its thread is wanted. */
u32 generation = 1;

/* Wanted processes. The value is 1, or the only thread whose forks are wanted. */
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 65536); __type(key, u32); __type(value, u32); } wanted SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1); __type(key, u32); __type(value, struct slot); } ring SEC(".maps");
/* The state of a CPU. User space writes `tail` alone: it has read all before `tail`, and all before `from`. `lost` and
 * `told` count calls. `forgot` counts lost records of changes to descriptors, names or processes. A part of the ring is kept
 * free for such records. */
struct cpu {
	u64 head, lost, told, forgot, from, unused[3];
	u64 tail, unused2[7];
	u64 id, tick; u32 generation, is_wanted, thread, process, samples, waited_us; u64 held_ns, last_ns, unused3;
	struct run run;
	u8 seen[1024], begun[256];
};
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1); __type(key, u32); __type(value, struct cpu); } cpus SEC(".maps");
/* When a thread began to wait (`since`) or was preempted (`held_since`), and the sums of both times since its last record. */
struct off { u64 since, sum, held_since, held; };
struct { __uint(type, BPF_MAP_TYPE_LRU_HASH); __uint(max_entries, 65536); __type(key, u32); __type(value, struct off); } offs SEC(".maps");
/* Samples of stacks, 256 for each CPU: the top of the user stack, with the registers that unwinding by .eh_frame needs.
 * Frames of CPython are copied unchanged, the innermost first. */
#define STACK_BYTES 4096
#define STACK_BYTES_MAX 12288
#define PYTHON_FRAMES 12
struct python_frame { u64 words[10]; };
struct sample { u64 serial, ip, sp, bp, kept[5]; u32 frames, stack_bytes; struct python_frame python[PYTHON_FRAMES]; u8 stack[STACK_BYTES_MAX]; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1); __type(key, u32); __type(value, struct sample); } samples SEC(".maps");
/* Where CPython keeps the running frame of a thread, by version: `cframe` is 0 from 3.13 on. */
struct python { u64 heads, threads, native_id, next, cframe, current, previous; };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4096); __type(key, u32); __type(value, struct python); } pythons SEC(".maps");

INLINE struct cpu *this_cpu(void)
{
	u32 at = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, &at);
}

INLINE struct slot *slot_at(u64 n)
{
	u32 at = (bpf_get_smp_processor_id() << slots_log2) + ((u32)n & ((1u << slots_log2) - 1));
	return bpf_map_lookup_elem(&ring, &at);
}

INLINE void publish(struct cpu *cpu, u64 slots)
{
	__asm__ volatile("" ::: "memory"); /* x86 keeps the order of stores. arm64 needs a release here. */
	*(volatile u64 *)&cpu->head = cpu->head + slots;
}

/* Whether the ring has room for a record. Without room, `calls` calls are lost, and a GAP stands before the next record.
 * `keeps`: the record changes no descriptors, names or processes. */
INLINE bool room(struct cpu *cpu, u32 calls, bool keeps)
{
	u64 size = 1ull << slots_log2, free = MOST_SLOTS + (keeps ? size / 8 : 0), tail = *(volatile u64 *)&cpu->tail;
	if (tail < cpu->from) tail = cpu->from;
	if (tail == cpu->head && (tail & (size - 1))) {
		/* User space has read all. The begin of the ring is more likely in a cache than the next slots. */
		cpu->from = tail = (tail + size - 1) & ~(size - 1);
		publish(cpu, tail - cpu->head);
	}
	if (cpu->head + free - tail > size) { cpu->lost += calls; cpu->forgot += !keeps; return false; }
	if (cpu->lost != cpu->told) {
		struct record *gap = (void *)slot_at(cpu->head);
		if (!gap) return false;
		gap->end_ns = bpf_ktime_get_ns();
		gap->what = WHAT(GAP, 0);
		gap->a1 = cpu->lost - cpu->told;
		gap->a2 = cpu->forgot;
		cpu->forgot = 0;
		cpu->told = cpu->lost;
		publish(cpu, 1);
	}
	return true;
}

/* Copies a string, 63 bytes a slot. Returns the slots used. */
INLINE u32 text(u64 from, const char *s, bool user)
{
	u32 used = 0;
	for (u32 i = 0; i < TEXT_SLOTS; i++) {
		struct slot *to = slot_at(from + i);
		if (!to) break;
		long n = user ? bpf_probe_read_user_str(to, 64, s + 63 * i) : bpf_probe_read_kernel_str(to, 64, s + 63 * i);
		if (n < 0) { to->words[0] = 0; n = 1; }
		used++;
		if (n < 64) break;
	}
	return used;
}

INLINE u32 bytes(u64 from, u64 address, u64 length)
{
	u32 used = 0;
	for (u32 i = 0; i < LIST_SLOTS; i++) {
		if (64 * i >= length) break;
		struct slot *to = slot_at(from + i);
		if (!to) break;
		if (bpf_probe_read_user(to, 64, (void *)(address + 64 * i))) {
			/* The list may end near the end of a mapping. */
			u64 rest = length - 64 * i;
			if (rest < 64 && !bpf_probe_read_user(to, rest & 63, (void *)(address + 64 * i))) used++;
			break;
		}
		used++;
	}
	return used;
}

/* Sends the open run of this CPU. */
INLINE void flush(struct cpu *cpu, u64 now)
{
	u32 calls = cpu->run.calls;
	if (!calls) return;
	if (room(cpu, calls, true)) {
		struct run *run = &cpu->run;
		struct slot *one = slot_at(cpu->head);
		if (one && calls == 1) {
			/* A single call fits into one slot. */
			struct record *r = (void *)one;
			r->end_ns = run->end_ns; r->waited_us = run->waited_us; r->thread = run->thread; r->process = run->process;
			r->number = run->number; r->what = WHAT(CALL, 0); r->result = run->results[0]; r->a0 = run->a0; r->stack = run->stack; r->held_ms = run->held_ms;
			r->a1 = 0; r->a2 = run->asked; r->a3 = 0;
			publish(cpu, 1);
		} else if (one) {
			u64 span = now - run->end_ns;
			run->span_ns = span > ~0u ? ~0u : span;
			struct slot *two = slot_at(cpu->head + 1);
			if (two) { *one = *(struct slot *)run; *two = *((struct slot *)run + 1); publish(cpu, 2); }
		}
	}
	cpu->run.calls = 0;
}

INLINE bool is_wanted(u32 process)
{
	return bpf_map_lookup_elem(&wanted, &process) != 0;
}

INLINE void want(u32 process)
{
	u32 one = 1;
	bpf_map_update_elem(&wanted, &process, &one, BPF_ANY);
	__sync_fetch_and_add(&generation, 1);
}

INLINE bool is_in_cgroup(void)
{
	for (int level = 0; level < 24; level++) {
		u64 one = bpf_get_current_ancestor_cgroup_id(level);
		if (!one || one == cgroup) return one != 0;
	}
	return false;
}

/* Notes the numbers of the current thread, and whether its calls are wanted. */
INLINE void look_up(struct cpu *cpu, u64 id)
{
	u32 tgid = id >> 32, tid = id;
	if (cpu->id != id) cpu->waited_us = 0;
	cpu->id = id;
	cpu->last_ns = 0;
	cpu->generation = generation;
	bool is = is_wanted(tgid);
	if (!is && cgroup && is_in_cgroup()) { want(tgid); is = true; }
	cpu->is_wanted = is;
	if (!is) return;
	cpu->thread = tid; cpu->process = tgid;
	struct off *off = bpf_map_lookup_elem(&offs, &tid);
	if (off && off->sum) { cpu->waited_us = off->sum / 1000 > ~0u ? ~0u : off->sum / 1000; off->sum = 0; }
	cpu->held_ns = off ? off->held : 0;
}

/* Begins a record of this thread; the caller adds the fields of its kind, and publishes it. Returns 0 if there is no room:
 * `calls` calls are lost. */
INLINE struct record *begin(struct cpu *cpu, u64 now, u32 thread, u32 process, u16 what, u32 calls, bool keeps)
{
	flush(cpu, now);
	if (!room(cpu, calls, keeps)) return 0;
	struct record *r = (void *)slot_at(cpu->head);
	if (!r) return 0;
	r->end_ns = now; r->waited_us = 0; r->thread = thread; r->process = process; r->number = 0; r->what = what;
	r->result = 0; r->a0 = 0; r->stack = 0; r->held_ms = 0; r->a1 = 0; r->a2 = 0; r->a3 = 0;
	return r;
}

INLINE u64 word(u64 address) { u64 w = 0; bpf_probe_read_user(&w, 8, (void *)address); return w; }

/* Copies the running frames of CPython, which the thread states of its first interpreter lead to. */
INLINE void python_frames(struct sample *s, u32 process)
{
	struct python *p = bpf_map_lookup_elem(&pythons, &process);
	if (!p) return;
	/* CPython knows a thread by the number in the thread's own namespace. */
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = PEEK(task, thread_pid);
	struct upid *own = &pid->numbers[0] + PEEK(pid, level);
	u32 thread = PEEK(own, nr);
	u64 state = word(word(p->heads) + p->threads);
	for (int i = 0; i < 64 && state; i++) {
		if (word(state + p->native_id) == thread) break;
		state = word(state + p->next);
	}
	if (!state) return;
	u64 frame = p->cframe ? word(word(state + p->cframe) + p->current) : word(state + p->current);
	for (u32 i = 0; i < PYTHON_FRAMES && frame; i++) {
		if (bpf_probe_read_user(&s->python[i], sizeof s->python[i], (void *)frame)) break;
		s->frames = i + 1;
		frame = word(frame + p->previous);
	}
}

/* Takes a sample of the stack. Returns the number of the sample, from 1 on, or 0. */
INLINE u32 sample(struct cpu *cpu, struct pt_regs *regs, bool is_deep)
{
	u32 n = cpu->samples++ & 0x7fff, place = (bpf_get_smp_processor_id() << 8) + (n & 255);
	struct sample *s = bpf_map_lookup_elem(&samples, &place);
	if (!s) return 0;
	s->serial = 0;
	s->ip = IP(regs); s->sp = SP(regs); s->bp = FP(regs); s->frames = 0;
	KEPT(s, regs);
	python_frames(s, cpu->process);
	/* The stack may end earlier; bytes that are not read are zero. printf to an unbuffered stream (stderr) has 8 KiB on
	 * the stack. */
#define READS(bytes) (!bpf_probe_read_user(s->stack, bytes, (void *)s->sp))
	s->stack_bytes = STACK_BYTES;
	if (is_deep && (READS(STACK_BYTES_MAX) || READS(10240) || READS(9216))) s->stack_bytes = STACK_BYTES_MAX;
	else if (!READS(STACK_BYTES) && !READS(2048) && !READS(1024)) READS(256);
	__asm__ volatile("" ::: "memory");
	*(volatile u64 *)&s->serial = n + 1;
	return n + 1;
}

/* Both ends of a socket and its inode, as src/socket_names.rs reads them. */
struct ends { u16 family, type, port, peer_port; u64 address[2], peer[2], inode, unused[2]; };

/* Adds the ends of a socket that was accepted or connected, or is about to be connected. Returns the slots used. */
INLINE u32 ends(u64 next, u32 fd, s64 result)
{
	struct ends *to = (void *)slot_at(next);
	if (!to || (result < 0 && result != -115 /* EINPROGRESS */)) return 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct files_struct *files = PEEK(task, files);
	struct fdtable *table = PEEK(files, fdt);
	if (fd >= PEEK(table, max_fds)) return 0;
	struct file **at = PEEK(table, fd) + fd, *file = 0;
	bpf_probe_read_kernel(&file, sizeof file, at);
	struct socket *socket = PEEK(file, private_data);
	struct sock *sock = PEEK(socket, sk);
	struct inode *inode = PEEK(file, f_inode);
	struct sock_common *common = &sock->__sk_common;
	*to = (struct ends){ .family = PEEK(common, skc_family), .type = PEEK(socket, type), .inode = PEEK(inode, i_ino) };
	u16 peer_port = PEEK(common, skc_dport);
	to->port = PEEK(common, skc_num);
	to->peer_port = peer_port << 8 | peer_port >> 8;
	if (to->family == 2) { to->address[0] = PEEK(common, skc_rcv_saddr); to->peer[0] = PEEK(common, skc_daddr); }
	else if (to->family == 10 && __builtin_preserve_field_info(common->skc_v6_daddr, 2)) {
		bpf_probe_read_kernel(to->address, sizeof to->address, &common->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(to->peer, sizeof to->peer, &common->skc_v6_daddr);
	}
	return 1;
}

/* Adds what the call needs beyond its first four arguments, and returns the slots after the record. */
INLINE u32 extend(struct record *r, u64 next, u8 class, struct pt_regs *regs)
{
	u64 a0 = FIRST(regs), a1 = r->a1, a2 = r->a2, a3 = r->a3;
	u32 used = 0;
	u64 path = 0, second = 0, list = 0, list_bytes = 0;
	switch (class) {
	case PATH0: path = a0; break;
	case PATH1: path = a1; break;
	case PATH4: path = ARGUMENT(regs, 4); break;
	case OPEN_HOW: path = a1; bpf_probe_read_user(&r->a2, 8, (void *)a2); break;
	case PATHS01: path = a0; second = a1; break;
	case PATHS02: path = a0; second = a2; break;
	case PATHS13: path = a1; second = a3; break;
	case STAT_FD: list = a1; list_bytes = 64; break;
	case STAT_PATH: path = a0; list = a1; list_bytes = 64; break;
	case STAT_AT: path = a1; list = a2; list_bytes = 64; break;
	case STATX: path = a1; list = ARGUMENT(regs, 4); list_bytes = 64; bpf_probe_read_user(&r->a3, 8, (void *)(list + 136)); break;
	case IOV2: r->a1 = ARGUMENT(regs, 5); list = a1; list_bytes = a2 * 16; break;
	case IOV: list = a1; list_bytes = a2 * 16; break;
	case MESSAGES: list = a1; list_bytes = r->result > 0 ? r->result * 64 : 0; break;
	case MESSAGE: {
		struct { u64 name, name_bytes, list, entries, control, control_bytes; } m = {};
		if (bpf_probe_read_user(&m, sizeof m, (void *)a1)) { r->a1 = ~0ull; r->a3 = 0; break; }
		r->a1 = m.entries; r->a3 = (m.name != 0) | (m.control_bytes != 0) << 1;
		list = m.list; list_bytes = m.entries * 16; break; }
	case SENDTO: r->a1 = ARGUMENT(regs, 4) != 0; break;
	case INTS0: bpf_probe_read_user(&r->a2, 8, (void *)a0); break;
	case INTS3: bpf_probe_read_user(&r->a3, 8, (void *)a3); break;
	case SPLICE: r->a1 = ARGUMENT(regs, 4); break;
	case MMAP: r->a0 = ARGUMENT(regs, 4); r->a1 = ARGUMENT(regs, 5); break;
	case SOCKET0: return ends(next, a0, r->result);
	case SOCKET_RESULT: return ends(next, r->result, r->result);
	case INFO2: bpf_probe_read_user(&r->a1, 4, (void *)(a2 + 16)); break;
	case RING: bpf_probe_read_user(&r->a1, 4, (void *)(a1 + 8)); break;
	}
	if (list_bytes) used = bytes(next, list, list_bytes);
	/* A `stat` that failed shows nothing. */
	if (class >= STAT_FD && !used) {
		struct slot *to = slot_at(next);
		if (to) { *to = (struct slot){}; used = 1; }
	}
	if (path) used += text(next + used, (void *)path, true);
	if (second) used += text(next + used, (void *)second, true);
	return used;
}

SEC("tp_btf/sys_exit") int on_exit(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (!cpu) return 0;
	/* Only a switch brings another thread. */
	if (!cpu->id || cpu->generation != generation) look_up(cpu, bpf_get_current_pid_tgid());
	if (!cpu->is_wanted) return 0;
	u64 id = cpu->id;
	struct pt_regs *regs = (void *)ctx[0];
	u32 number = NUMBER(regs);
	u8 class = class_of[number & 511];
	bool keeps = class & KEEPS;
	class &= ~KEEPS;
	if (class == DROP) return 0;
	u64 a0 = FIRST(regs), a2 = ARGUMENT(regs, 2);
	s64 result = ctx[1];
	bool joins = (class == READ || (class == WRITE && result == (s64)a2)) && result > 0 && result < 65536 && a2 < 1ull << 32;
	u64 tick = bpf_jiffies64();
	struct run *run = &cpu->run;
	if (joins && run->calls && run->number == number && run->a0 == (int)a0 && (class == WRITE || run->asked == a2) && cpu->tick == tick) {
		u32 n = run->calls;
		if (n < RUN_CALLS && n < run->most) { run->results[n] = result; run->calls = n + 1; return 0; }
	}
	/* A run that begins in the tick of the record before it takes the time of that record: the times of a run are exact to a
	 * tick. */
	u64 now = joins && !run->calls && cpu->tick == tick && cpu->last_ns ? cpu->last_ns + 1 : bpf_ktime_get_ns();
	cpu->last_ns = now;
	cpu->tick = tick;
	flush(cpu, now);
	u16 held_ms = 0;
	if (cpu->held_ns >= HELD_NS) {
		u64 ms = (cpu->held_ns + 500000) / 1000000;
		held_ms = ms < 65535 ? ms : 65535;
		u32 tid = id;
		struct off *off = bpf_map_lookup_elem(&offs, &tid);
		if (off) off->held = 0;
		cpu->held_ns = 0;
	}
	/* A run has only the stack of its first call. So the first calls on a descriptor are not joined, and runs differ in length:
	 * other calls then begin the next runs. */
	u64 alike = id * 0x9e3779b97f4a7c15ull ^ ((u64)number << 40) ^ ((u64)(u32)a0 << 20);
	u32 chance = (now ^ alike) * 0x9e3779b97f4a7c15ull >> 32;
	if (joins) {
		u8 *begun = &cpu->begun[alike * 0xff51afd7ed558ccdull >> 56];
		run->most = *begun < UNJOINED || chance % 8 == 0 ? 1 : RUN_CALLS - chance / 8 % 8;
		*begun += *begun < UNJOINED;
	}
	/* Takes the stack of the first of the calls or runs that are alike, and of others by chance: a site that takes turns with
	 * others is not always missed. */
	u32 stack = 0;
	if (stack_every && result > 0) {
		alike = (alike ^ (result < 4096 ? result : 4096)) * 0xff51afd7ed558ccdull;
		u8 *seen = &cpu->seen[alike >> 54], mark = alike >> 40 | 1;
		/* If two kinds of calls share a place, each replaces the other now and then. */
		if (*seen == mark ? chance % stack_every == 0 : !*seen || chance % 8 == 0) { *seen = mark; stack = sample(cpu, regs, (int)a0 == 2); }
	}
	u32 waited_us = cpu->waited_us;
	cpu->waited_us = 0;
	if (joins) {
		run->end_ns = now; run->waited_us = waited_us; run->thread = cpu->thread; run->process = cpu->process;
		run->number = number; run->what = WHAT(RUN, 1); run->a0 = a0; run->stack = stack; run->held_ms = held_ms; run->asked = a2; run->results[0] = result;
		__asm__ volatile("" ::: "memory"); /* User space reads an open run. */
		*(volatile u16 *)&run->calls = 1;
		return 0;
	}
	u64 a1 = ARGUMENT(regs, 1), a3 = ARGUMENT(regs, 3);
	struct record *r = begin(cpu, now, cpu->thread, cpu->process, 0, 1, keeps);
	if (!r) return 0;
	r->waited_us = waited_us; r->number = number; r->result = result; r->a0 = a0; r->stack = stack; r->held_ms = held_ms;
	r->a1 = a1; r->a2 = a2; r->a3 = a3;
	u32 used = class > WRITE ? extend(r, cpu->head + 1, class, regs) : 0;
	r->what = WHAT(CALL, used) | (class < IOV ? 0 : class < STAT_FD ? ALL_DATA : ONE_DATA);
	publish(cpu, 1 + used);
	return 0;
}

SEC("tp_btf/sched_process_fork") int on_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 from = parent->tgid, to = child->tgid;
	u32 *who = bpf_map_lookup_elem(&wanted, &from);
	if (!who || (*who != 1 && *who != parent->pid)) return 0;
	if (from != to) want(to);
	struct cpu *cpu = this_cpu();
	if (!cpu) return 0;
	struct record *r = begin(cpu, bpf_ktime_get_ns(), parent->pid, from, WHAT(FORK, 0), 1, false);
	if (!r) return 0;
	r->a0 = child->pid; r->a1 = from == to; r->a2 = parent->files == child->files; r->a3 = to;
	publish(cpu, 1);
	return 0;
}

SEC("tp_btf/sched_process_exec") int on_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 process = task->tgid;
	if (!is_wanted(process)) return 0;
	struct linux_binprm *program = (void *)ctx[2];
	struct cpu *cpu = this_cpu();
	if (!cpu) return 0;
	struct record *r = begin(cpu, bpf_ktime_get_ns(), task->pid, process, 0, 1, false);
	if (!r) return 0;
	cpu->id = 0; /* The thread that called it may have taken over another number. */
	r->a0 = (u32)ctx[1];
	struct mm_struct *memory = PEEK(task, mm);
	struct file *file = PEEK(program, file);
	struct inode *inode = PEEK(file, f_inode);
	r->a1 = PEEK(memory, start_code); r->a2 = PEEK(inode, i_ino);
	bpf_map_delete_elem(&pythons, &process);
	u32 used = text(cpu->head + 1, program->filename, false);
	r->what = WHAT(EXEC, used);
	publish(cpu, 1 + used);
	return 0;
}

SEC("tp_btf/sched_process_exit") int on_end(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tgid = task->tgid, tid = task->pid;
	bool is_last = task->signal->live.counter == 0;
	if (!is_wanted(tgid)) return 0;
	bpf_map_delete_elem(&offs, &tid);
	if (is_last) bpf_map_delete_elem(&wanted, &tgid);
	struct cpu *cpu = this_cpu();
	if (!cpu) return 0;
	struct record *r = begin(cpu, bpf_ktime_get_ns(), tid, tgid, WHAT(EXIT, 0), 1, false);
	if (!r) return 0;
	r->a0 = task->exit_code; r->a1 = is_last; r->a2 = task->signal->flags; r->result = task->se.sum_exec_runtime;
	publish(cpu, 1);
	return 0;
}

SEC("tp_btf/signal_deliver") int on_signal(u64 *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	if (!is_wanted(id >> 32)) return 0;
	struct cpu *cpu = this_cpu();
	if (!cpu) return 0;
	if (cpu->id != id) look_up(cpu, id);
	struct record *r = begin(cpu, bpf_ktime_get_ns(), cpu->thread, cpu->process, WHAT(SIGNAL, 0), 1, true);
	if (!r) return 0;
	r->a0 = ctx[0];
	publish(cpu, 1);
	return 0;
}

INLINE u64 state_of(struct task_struct *task)
{
	if (__builtin_preserve_field_info(task->__state, 2)) return PEEK(task, __state);
	return PEEK((struct task_struct___5_13 *)task, state);
}

SEC("tp_btf/sched_switch") int on_switch(u64 *ctx)
{
	struct task_struct *from = (void *)ctx[1], *to = (void *)ctx[2];
	u32 tgid = from->tgid, tid = from->pid;
	u64 now = 0;
	struct cpu *cpu = this_cpu();
	/* The next call looks its thread up again. */
	if (cpu) { if (cpu->run.calls) flush(cpu, now = bpf_ktime_get_ns()); cpu->id = 0; }
	if (is_wanted(tgid)) {
		/* A thread that was preempted, or has yielded, waits for nothing but a CPU. */
		bool waits = !ctx[0] && state_of(from);
		now = bpf_ktime_get_ns();
		struct off *off = bpf_map_lookup_elem(&offs, &tid), new = { .since = waits ? now : 0, .held_since = waits ? 0 : now };
		if (!off) bpf_map_update_elem(&offs, &tid, &new, BPF_ANY);
		else if (waits) off->since = now;
		else off->held_since = now;
	}
	tgid = to->tgid; tid = to->pid;
	if (is_wanted(tgid)) {
		struct off *off = bpf_map_lookup_elem(&offs, &tid);
		if (off) {
			if (!now) now = bpf_ktime_get_ns();
			if (off->since) { off->sum += now - off->since; off->since = 0; }
			if (off->held_since) { off->held += now - off->held_since; off->held_since = 0; }
		}
	}
	return 0;
}
char LICENSE[] SEC("license") = "Dual MIT/GPL";
