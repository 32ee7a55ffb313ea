//! Records in the rings, as `bpf/live.bpf.c` lays them out.

use vectored_strace::escaped;

/// A part of a ring: a record, or what belongs to the record before it.
pub(crate) type Slot = [u64; 8];

/// The kind of a record. `bpf/live.bpf.c` has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Fork,
    Execute,
    Exit,
    Signal,
    Run,
    Gap,
}

const KINDS: [Kind; 7] = {
    use Kind::*;
    [Call, Fork, Execute, Exit, Signal, Run, Gap]
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) end_ns: u64,
    pub(crate) waited_us: u32,
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) number: u16,
    pub(crate) kind: Kind,
    /// The number of slots after the first slot.
    pub(crate) extension: usize,
    /// The number of slots of the extension that hold data. The other slots hold texts.
    pub(crate) data: usize,
    pub(crate) result: i64,
    pub(crate) a0: i32,
    /// The number of the sample of the stack; 0 for none.
    pub(crate) stack: u16,
    pub(crate) a1: u64,
    pub(crate) a2: u64,
    pub(crate) a3: u64,
    /// For how long the thread was ready to run but had no CPU, since its last record.
    pub(crate) delayed_ns: u64,
}

impl Record {
    pub(crate) fn read(slot: &Slot) -> Record {
        let what = (slot[2] >> 48) as u16;
        let extension = usize::from(what & 0x3ff);
        Record {
            end_ns: slot[0],
            waited_us: slot[1] as u32,
            thread: (slot[1] >> 32) as u32,
            process: slot[2] as u32,
            number: (slot[2] >> 32) as u16,
            kind: KINDS[usize::from(what >> 12) % KINDS.len()],
            extension,
            data: [0, 1, extension, extension][usize::from(what >> 10 & 3)].min(extension),
            result: slot[3] as i64,
            a0: slot[4] as i32,
            stack: (slot[4] >> 32) as u16,
            a1: slot[5],
            a2: slot[6],
            a3: slot[7],
            delayed_ns: (slot[4] >> 48) * 1_000_000,
        }
    }
}

/// The byte of a run at which the results begin.
const RESULTS_AT: usize = 44;

/// The fields of a run that a [`Record`] does not have.
pub(crate) struct Run {
    /// Time from the end of the first call to the record after the run, in ns.
    pub(crate) span_ns: u32,
    pub(crate) asked: u32,
    pub(crate) results: Vec<u16>,
}

impl Run {
    pub(crate) fn read(slots: &[Slot]) -> Run {
        let bytes: Vec<u8> = bytes_of(slots).collect();
        let results = bytes[RESULTS_AT..].chunks_exact(2);
        let results = results.map(|two| u16::from_le_bytes([two[0], two[1]]));
        let calls = usize::from(slots[0][5] as u16);
        Run {
            span_ns: slots[0][3] as u32,
            asked: (slots[0][3] >> 32) as u32,
            results: results.take(calls).collect(),
        }
    }
}

pub(crate) const STACK_BYTES_MAX: usize = 12288;

/// The most frames of CPython in a sample.
pub(crate) const PYTHON_FRAMES: usize = 12;
/// The number of words of such a frame that are copied.
pub(crate) const PYTHON_WORDS: usize = 10;

/// The top of the stack of a thread at the end of a call, and the registers that unwinding needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The registers `rip`, `rsp` and `rbp`.
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
    /// The other registers that a function restores before it returns: `rbx`, `r12` to `r15`.
    pub(crate) kept: [u64; 5],
    /// The first words of the frames of CPython (`_PyInterpreterFrame`), the innermost frame first.
    pub(crate) python: Vec<[u64; PYTHON_WORDS]>,
    pub(crate) stack: Vec<u64>,
}

impl Sample {
    /// The memory that a sample takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Sample>() + size_of_val(&self.python[..]) + size_of_val(&self.stack[..])
    }
}

pub(crate) fn bytes_of(slots: &[Slot]) -> impl Iterator<Item = u8> + '_ {
    slots.iter().flatten().flat_map(|word| word.to_le_bytes())
}

/// The strings in slots, with the escapes of strace. A string stands in pieces, each in a slot. Every piece has 63
/// bytes, except a shorter last piece.
pub(crate) fn texts(slots: &[Slot]) -> Vec<Vec<u8>> {
    let (mut all, mut text) = (Vec::new(), Vec::new());
    for slot in slots {
        let bytes: Vec<u8> = bytes_of(std::slice::from_ref(slot)).collect();
        let piece = bytes[..63].split(|&byte| byte == 0).next();
        let piece = piece.unwrap_or_default();
        text.extend_from_slice(piece);
        if piece.len() < 63 {
            all.push(escaped(&std::mem::take(&mut text)));
        }
    }
    if !text.is_empty() {
        all.push(escaped(&text));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_the_slots_of_data() {
        for (mark, data) in [(0, 0), (0x400, 1), (0x800, 2)] {
            let record = Record::read(&[0, 0, (mark | 2) << 48, 0, 0, 0, 0, 0]);
            assert_eq!((record.extension, record.data), (2, data));
        }
    }
}
