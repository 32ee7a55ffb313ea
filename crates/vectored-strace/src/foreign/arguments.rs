//! Arguments of calls as strace writes them, made from numbers or from the names that `perf trace` gives the arguments.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem;

use crate::text::escapes::escaped;

/// The calls whose arguments are read. A line has the names of calls, then a letter for the form of each argument (`_`
/// leaves the argument out). Then come the kernel's names of the arguments, which `perf trace` prints.
const CALLS: &str = "\
read|write dbn fd buf count
pread64|pwrite64 dbnl fd buf count pos
readv|writev dbn fd vec vlen
preadv|pwritev dbnl_ fd vec vlen pos_l pos_h
preadv2|pwritev2 dbnl_R fd vec vlen pos_l pos_h flags
sendto dbnMa_ fd buff len flags addr addr_len
recvfrom dbnMa_ fd ubuf size flags addr addr_len
sendmsg|recvmsg dbM fd msg flags
sendmmsg dbnM fd mmsg vlen flags
recvmmsg dbnM_ fd mmsg vlen flags timeout
sendfile ddbn out_fd in_fd offset count
splice|copy_file_range dbdbn_ fd_in off_in fd_out off_out len flags
tee ddn_ fdin fdout len flags
vmsplice dbnx fd iov nr_segs flags
open pF_ filename flags mode
openat dpF_ dfd filename flags mode
openat2 dpbx dfd filename how usize
creat p_ pathname mode
pipe b fildes
pipe2 bF fildes flags
mknod pb_ filename mode dev
mknodat dpb_ dfd filename mode dev
close|fchdir d fd
close_range nnx fd max_fd flags
dup d fildes
dup2 dd oldfd newfd
dup3 ddF oldfd newfd flags
fcntl dCV fd cmd arg
ioctl dI_ fd cmd arg
lseek dlW fd offset whence
mmap bnPXd_ addr len prot flags fd off
socket STN family type protocol
socketpair STNb family type protocol usockvec
accept dbb fd upeer_sockaddr upeer_addrlen
accept4 dbbT fd upeer_sockaddr upeer_addrlen flags
connect dbx fd uservaddr addrlen
setsockopt dLxbn fd level optname optval optlen
clone K____ clone_flags newsp parent_tidptr child_tidptr tls
fstat db fd statbuf
newfstatat dpbE dfd filename statbuf flag
statx dpE_b dfd filename flags mask buffer
stat|lstat pb filename statbuf
access p_ filename mode
faccessat dp_ dfd filename mode
faccessat2 dp__ dfd filename mode flags
readlink pb_ path buf bufsiz
readlinkat dpb_ dfd pathname buf bufsiz
getxattr|lgetxattr p___ pathname name value size
chdir p filename
mkdir p_ pathname mode
mkdirat dp_ dfd pathname mode
truncate pn path length
rename|link|symlink pp oldname newname
renameat dpdp olddfd oldname newdfd newname
renameat2 dpdpx olddfd oldname newdfd newname flags
linkat dpdpx olddfd oldname newdfd newname flags
symlinkat pdp oldname newdfd newname
execve pbb filename argv envp
execveat dpbbx fd filename argv envp flags
inotify_add_watch dpx fd pathname mask
fanotify_mark dAxdp fanotify_fd flags mask dfd pathname
waitid __b__ which upid infop options ru
io_uring_setup xQ entries params";

struct Call {
    forms: &'static str,
    names: Vec<&'static [u8]>,
}

static BY_NAME: LazyLock<HashMap<&[u8], Call>> = LazyLock::new(|| {
    let calls = CALLS.lines().flat_map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (called, forms) = (next(), next());
        let names: Vec<&[u8]> = words.map(str::as_bytes).collect();
        let call = move |name: &'static str| {
            (
                name.as_bytes(),
                Call {
                    forms,
                    names: names.clone(),
                },
            )
        };
        called.split('|').map(call)
    });
    calls.collect()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    Number(u64),
    /// The text of `perf trace`: `RDONLY|CLOEXEC` or `3</tmp/x>`.
    Text(&'a [u8]),
    /// A path without quotes, or a structure, as strace writes them.
    Shown(&'a [u8]),
}

/// For each form of flags and constants: its letter, the prefix of strace, and names without the prefix. A hexadecimal
/// number comes before each name. If the mask of the name's bits differs from that number, the mask comes first. `*` is
/// the mask of all bits.
const NAMES: &str = "\
F O_ 3:0:RDONLY 3:1:WRONLY 3:2:RDWR 40:CREAT 80:EXCL 200:TRUNC 400:APPEND 800:NONBLOCK 101000:1000:DSYNC 101000:SYNC 4000:DIRECT \
    10000:DIRECTORY 80000:CLOEXEC 200000:PATH
M MSG_ 40:DONTWAIT 100:WAITALL 4000:NOSIGNAL 8000:MORE 40000000:CMSG_CLOEXEC
R RWF_ 1:HIPRI 2:DSYNC 4:SYNC 8:NOWAIT
S AF_ *:1:UNIX *:2:INET *:a:INET6
T SOCK_ f:1:STREAM f:2:DGRAM 800:NONBLOCK 80000:CLOEXEC
N IPPROTO_ *:6:TCP
L SOL_
P PROT_ 1:READ 2:WRITE 4:EXEC
X MAP_ f:1:SHARED f:2:PRIVATE f:3:SHARED_VALIDATE 20:ANONYMOUS
W SEEK_ *:0:SET *:1:CUR *:2:END
C F_ *:0:DUPFD *:1:GETFD *:2:SETFD *:3:GETFL *:4:SETFL *:402:NOTIFY *:406:DUPFD_CLOEXEC
D FD_ 1:CLOEXEC
I  *:5401:TCGETS *:802c542a:TCGETS2 *:5413:TIOCGWINSZ *:5450:FIONCLEX *:5451:FIOCLEX
A FAN_MARK_ 1:ADD 10:MOUNT 100:FILESYSTEM
K CLONE_ 100:VM 400:FILES 4000:VFORK 10000:THREAD";

/// The prefix, and for each name: its mask, its bits and the name.
type Names = (&'static str, Vec<(u64, u64, &'static str)>);

static BY_FORM: LazyLock<HashMap<char, Names>> = LazyLock::new(|| {
    let number = |text| u64::from_str_radix(text, 16).unwrap_or(u64::MAX);
    let name = |word: &'static str| {
        let (bits, name) = word.rsplit_once(':')?;
        let (mask, bits) = bits.split_once(':').unwrap_or((bits, bits));
        Some((number(mask), number(bits), name))
    };
    let forms = NAMES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let form = words.next()?.chars().next()?;
        Some((form, (words.next()?, words.filter_map(name).collect())))
    });
    forms.collect()
});

/// Writes the arguments of a call from its numbers. Known paths and a known structure in the program's memory replace
/// numbers.
pub(super) fn of_numbers(
    output: &mut Vec<u8>,
    name: &[u8],
    numbers: &[u64; 6],
    paths: &[Vec<u8>],
    structure: &[u8],
) {
    let unknown = if numbers[0] <= i32::MAX as u64 { "d" } else { "x" };
    let forms = BY_NAME.get(name).map_or(unknown, |call| call.forms);
    let mut paths = paths.iter();
    let mut values = numbers.map(|number| ('_', Value::Number(number)));
    for (value, form) in values.iter_mut().zip(forms.chars()) {
        value.0 = form;
        let shown = match form {
            'p' => paths.next().map(Vec::as_slice),
            'b' | 'Q' => Some(structure).filter(|structure| !structure.is_empty()),
            _ => None,
        };
        value.1 = shown.map_or(value.1, Value::Shown);
    }
    write(output, &values);
}

/// The arguments of a call, from the text of `perf trace`: `fd: 1, buf: 0x7f00, count: 100`.
pub(super) fn of_names(name: &[u8], text: &[u8]) -> Vec<u8> {
    let Some(call) = BY_NAME.get(name) else {
        let (name, value) = text.split_at(memmem::find(text, b": ").unwrap_or(0));
        let end = memmem::find(value, b", ").unwrap_or(value.len());
        let form = if name.ends_with(b"fd") { 'd' } else { 'b' };
        return written(&[(
            form,
            Value::Text(value[..end].strip_prefix(b": ").unwrap_or_default()),
        )]);
    };
    // The search begins at the end, because a text may contain what looks like a name. Values of 0 are left out.
    let mut end = text.len();
    let mut values: Vec<(char, Value)> = call
        .forms
        .chars()
        .map(|form| (form, Value::Number(0)))
        .collect();
    for ((_, value), name) in values.iter_mut().zip(&call.names).rev() {
        let begin = [name, &b": "[..]].concat();
        let inner = memmem::rfind(&text[..end], &[b", ", &begin[..]].concat());
        let Some((at, skipped)) = inner
            .map(|at| (at, 2))
            .or_else(|| text[..end].starts_with(&begin).then_some((0, 0)))
        else {
            continue;
        };
        let shown = &text[at + skipped + begin.len()..end];
        *value = number(shown).map_or(Value::Text(shown), Value::Number);
        end = at;
    }
    written(&values)
}

pub(super) fn of_result(result: i64) -> Vec<u8> {
    let text = match result {
        0.. => result.to_string(),
        // The kernel makes the call again, or the call never returned.
        ..=-512 => "? ERESTARTSYS".to_owned(),
        _ => format!("-1 {}", error_name(result)),
    };
    text.into_bytes()
}

/// The name of the error in a negative result, if the name matters.
pub fn error_name(result: i64) -> &'static str {
    match result {
        -4 => "EINTR",
        -11 => "EAGAIN",
        -14 => "EFAULT",
        -29 => "ESPIPE",
        -32 => "EPIPE",
        -104 => "ECONNRESET",
        -115 => "EINPROGRESS",
        ..=-512 => "ERESTARTSYS",
        _ => "error",
    }
}

fn written(values: &[(char, Value)]) -> Vec<u8> {
    let mut output = Vec::new();
    write(&mut output, values);
    output
}

fn write(output: &mut Vec<u8>, values: &[(char, Value)]) {
    let any = |is: fn(&(char, Value)) -> bool| values.iter().any(is);
    let of_descriptor = any(|value| match value {
        ('E', Value::Number(flags)) => flags & 0x1000 != 0,
        ('E', Value::Text(flags)) => memmem::find(flags, b"EMPTY_PATH").is_some(),
        _ => false,
    });
    let sets_flags = any(|value| matches!(value, ('C', Value::Number(4) | Value::Text(b"SETFL"))));
    let sets_cloexec =
        any(|value| matches!(value, ('C', Value::Number(2) | Value::Text(b"SETFD"))));
    for (index, (form, value)) in values.iter().filter(|value| value.0 != '_').enumerate() {
        if index > 0 {
            output.extend_from_slice(b", ");
        }
        let value = match (form, value) {
            ('p', Value::Number(_) | Value::Text(_)) if of_descriptor => Value::Shown(b""),
            (_, value) => *value,
        };
        let form = match form {
            'V' if sets_flags => 'F',
            'V' if sets_cloexec => 'D',
            'E' | 'V' => 'x',
            form => *form,
        };
        push(output, form, value);
    }
}

/// Writes an argument. The forms are: `b` a buffer, `p` a path, `d` a descriptor, `n` a number, `l` a number that may
/// be negative, `x` a number in hexadecimal, `a` an address of a socket, `Q` parameters of `io_uring_setup`, or a form
/// of `NAMES`.
fn push(output: &mut Vec<u8>, form: char, value: Value) {
    if form == 'K' {
        output.extend_from_slice(b"child_stack=NULL, flags=");
    }
    let text = match (form, value) {
        ('p', Value::Shown(path)) => {
            return output.extend_from_slice(&[b"\"", path, b"\""].concat());
        }
        (_, Value::Shown(shown)) => return output.extend_from_slice(shown),
        ('b', _) => "0x1".to_owned(),
        // The flags are unknown, and may contain this flag.
        ('Q', _) => "{flags=IORING_SETUP_SQPOLL}".to_owned(),
        ('a' | 'p', Value::Number(0)) => "NULL".to_owned(),
        ('a', _) => "{}".to_owned(),
        // `perf trace` writes a path without escapes.
        ('p', Value::Text([b'"', path @ .., b'"'])) => {
            return output.extend_from_slice(&[b"\"", &escaped(path)[..], b"\""].concat());
        }
        ('p', Value::Text(_)) => "0x1".to_owned(),
        ('d', Value::Text(b"CWD")) => "AT_FDCWD".to_owned(),
        ('d', Value::Text(text)) => return output.extend_from_slice(without_name(text)),
        ('L', Value::Text(b"TCP")) => "0x6".to_owned(),
        ('d', Value::Number(number)) => (number as i32).to_string(),
        ('l', Value::Number(number)) => (number as i64).to_string(),
        ('n', Value::Number(number)) => number.to_string(),
        (_, Value::Number(number)) => return flags(output, form, number),
        (_, Value::Text(text)) => {
            let prefix = BY_FORM.get(&form).map_or("", |names| names.0);
            for (index, word) in text.split(|byte| *byte == b'|').enumerate() {
                let is_bare = word.first().is_some_and(u8::is_ascii_uppercase)
                    && !word.starts_with(prefix.as_bytes());
                let word = if form == 'S' && word == b"LOCAL" { b"UNIX" } else { word };
                output.extend_from_slice(if index > 0 { b"|" } else { b"" });
                output.extend_from_slice(if is_bare { prefix.as_bytes() } else { b"" });
                output.extend_from_slice(word);
            }
            return;
        }
    };
    output.extend_from_slice(text.as_bytes());
}

pub(super) fn flags(output: &mut Vec<u8>, form: char, number: u64) {
    let begin = output.len();
    let mut rest = number;
    let known = BY_FORM.get(&form);
    let (prefix, all) = known.map_or(("", &[][..]), |names| (names.0, &names.1));
    for (mask, bits, name) in all {
        if number & mask == *bits {
            rest &= !mask;
            output.extend_from_slice(if output.len() > begin { b"|" } else { b"" });
            output.extend_from_slice(prefix.as_bytes());
            output.extend_from_slice(name.as_bytes());
        }
    }
    let text = match rest {
        0 if output.len() > begin => return,
        0 => "0".to_owned(),
        rest => format!("{rest:#x}"),
    };
    output.extend_from_slice(if output.len() > begin { b"|" } else { b"" });
    output.extend_from_slice(text.as_bytes());
}

/// The number in `3</tmp/x>`. The name may be wrong: `perf trace` looks it up when it prints the line, and by then a
/// later file may have the number.
fn without_name(text: &[u8]) -> &[u8] {
    memchr::memchr(b'<', text).map_or(text, |end| &text[..end])
}

fn number(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(hexadecimal), _) => u64::from_str_radix(hexadecimal, 16).ok(),
        (_, Some(digits)) => Some(digits.parse::<u64>().ok()?.wrapping_neg()),
        _ => text.parse().ok(),
    }
}
