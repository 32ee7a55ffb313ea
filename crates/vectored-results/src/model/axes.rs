//! The axes along which a measurement can vary, beside the target and the list. Options, titles and the reference page are made
//! of this table.

use std::fmt::Display;

use vectored_report::value_of;
use vectored_report::words::{bytes as bytes_in_words, count};

use crate::model::conditions::{Conditions, Operation, SyncMode};
use crate::model::experiment::MAX_QUEUE_DEPTH;
use crate::model::ranks::MAX_RANKS;
use crate::model::target::Target;
use crate::model::workload::{Cache, IovecSetup, Layout, PageCache};

const MAX_BUFFER_BYTES: u32 = 64 << 20;

/// The largest pipe: Linux takes no larger number.
const MAX_PIPE_BYTES: u32 = 1 << 30;

const WRITES: &[Operation] = &[Operation::Write];
const COPIES: &[Operation] = &[Operation::Copy];

const LISTS: &[Operation] = &[Operation::Write, Operation::Read];

/// One property of [`Conditions`]: cells can differ in it.
#[derive(Debug)]
pub struct Axis {
    /// The name of the field. The option is its kebab case.
    pub name: &'static str,
    pub about: &'static str,
    /// The operations that the axis suits. With other operations, the property keeps its usual value.
    pub suits: &'static [Operation],
    pub values: Values,
    /// The value in a title, after the separator from the words before. `None` if the value goes without saying. The flag says
    /// whether the titles have to tell several values apart.
    pub words: fn(&Conditions, bool) -> Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words in a run. The first is the default.
    Word(&'static [&'static str]),
    /// One or several of these words. The first is the default.
    Words(&'static [&'static str]),
    Flag,
    Numbers {
        min: u32,
        max: u32,
        default: Option<&'static str>,
    },
    Sizes {
        max: u32,
        default: &'static str,
    },
}

/// The axes, in the order of the fields of [`Conditions`]. A later axis heeds the values of earlier axes.
pub static AXES: &[Axis] = &[
    Axis {
        name: "operation",
        about: "\
Whether to write from segments, to read into them, or to copy from one descriptor to another

copy: each cell is a pair of descriptors, from --from to --target, and a size: the bytes of one copy (--sizes). The \
techniques are calls that copy.",
        suits: &Operation::ALL,
        values: Values::Word(&Operation::WORDS),
        // The title of a copy names source and target.
        words: |of, _| (of.operation == Operation::Read).then(|| " read".to_owned()),
    },
    Axis {
        name: "from",
        about: "\
Source of the copies, with --operation copy

file: a file that vectored fills. pipe, unix, tcp: a stream that vectored fills before each sample, or by a thread on \
another CPU if a copy does not fit. Without the option: what usually goes to the --target, from files, pipes and sockets.",
        suits: COPIES,
        values: Values::Words(&["file", "pipe", "unix", "tcp"]),
        words: |_, _| None,
    },
    Axis {
        name: "buffer_bytes",
        about: "\
Buffer of read-write, with --operation copy, for example 4KiB..1MiB

Each read asks for as many bytes, and a write of them follows. The floor of a copy has the same buffer. The other \
techniques have none, and are asked for all bytes at once; each size is a cell of its own, in which they are measured, too.",
        suits: COPIES,
        values: Values::Sizes {
            max: MAX_BUFFER_BYTES,
            default: "128 KiB",
        },
        words: |of, varies| {
            let bytes = of.buffer_bytes?;
            let is_named = varies || bytes != Conditions::COPY_BUFFER_BYTES;
            named(is_named, "buffer", bytes_in_words(bytes.into()))
        },
    },
    Axis {
        name: "pipe_bytes",
        about: "\
Capacity of pipes, with --operation copy, for example 64KiB,1MiB

Of the pipes that are copied from or to, and of the one through which splice goes between two other descriptors. Linux \
rounds up to a power of two, and grants up to /proc/sys/fs/pipe-max-size (usually 1 MiB) without privileges.",
        suits: COPIES,
        values: Values::Sizes {
            max: MAX_PIPE_BYTES,
            default: "the capacity of a new pipe, usually 64 KiB",
        },
        words: |of, _| named(true, "pipe", bytes_in_words(of.pipe_bytes?.into())),
    },
    Axis {
        name: "direct",
        about: "\
Write to or read from files past the page cache (O_DIRECT; macOS: F_NOCACHE)

Each transfer goes between the segments and the device, and waits for it. For file, file-overwrite and \
directories. The file system must support it, and asks for an alignment: lists with a segment whose size is not a \
multiple of it, often of 512 bytes, are left out.",
        suits: LISTS,
        values: Values::Flag,
        words: |of, _| of.direct.then(|| " O_DIRECT".to_owned()),
    },
    Axis {
        name: "page_cache",
        about: "\
State of the page cache for the file that is read or copied

hot: the file was read before. cold: the file is evicted before each call, and each call is checked to read its bytes \
from the device.",
        suits: &[Operation::Read, Operation::Copy],
        values: Values::Words(&PageCache::WORDS),
        words: |of, _| {
            let state = of.page_cache?;
            // Copies from a file stand beside copies from a pipe, which have no such state.
            let is_usual = of.from.is_some() && state == PageCache::default();
            (!is_usual).then(|| format!(" {state}"))
        },
    },
    Axis {
        name: "sync",
        about: "\
How durable each write to a file must be before the call returns

none: left to the kernel. dsync: each write returns when its data are on the device (O_DSYNC). sync: as dsync, with the \
metadata (O_SYNC). fsync: one fsync(2) follows each call and is part of its time. Each call then waits for the device, so \
measure only a few lists.",
        suits: WRITES,
        values: Values::Words(&SyncMode::WORDS),
        words: |of, _| (of.sync != SyncMode::None).then(|| format!(" {}", of.sync)),
    },
    Axis {
        name: "cache",
        about: "\
State of the CPU caches when a call begins

hot: the same segments are sent again and again. cold: the segments of each call come from memory, from a pool of twice \
the last-level cache (at most 128 MiB; the floor has a second pool). For writes only, and for lists of up to 16 MiB.",
        suits: WRITES,
        values: Values::Words(&Cache::WORDS),
        words: |of, varies| {
            named(varies || of.cache != Cache::default(), "cache", of.cache)
        },
    },
    Axis {
        name: "layout",
        about: "\
Placement of the segments in memory

scattered: apart, in random order. adjacent: one directly after another, in one allocation.",
        suits: LISTS,
        values: Values::Words(&Layout::WORDS),
        words: |of, varies| {
            named(varies || of.layout != Layout::default(), "layout", of.layout)
        },
    },
    Axis {
        name: "iovec_setup",
        about: "\
When the iovec array for writev or readv is filled

timed: in every call, as part of its time. once: before the clock starts, as in a program that keeps its array. adaptive \
gets the same array. once is left out if an asynchronous technique is named, whose transfers fill their own array.",
        suits: LISTS,
        values: Values::Words(&IovecSetup::WORDS),
        words: |of, varies| {
            named(varies || of.iovec_setup != IovecSetup::default(), "iovec-setup", of.iovec_setup)
        },
    },
    Axis {
        name: "queue_depth",
        about: "\
Transfers that asynchronous techniques keep in flight, for example 1,8,64

From 1 to 4096; a range grows as in --segments. Each depth is a cell of its own, in which synchronous techniques are \
measured, too: one transfer at a time. More than one is for files and null only, since a stream does not keep the order \
of transfers. A cell may have up to 128 MiB in flight.",
        suits: LISTS,
        values: Values::Numbers {
            min: 1,
            max: MAX_QUEUE_DEPTH,
            default: Some("1"),
        },
        words: |of, varies| named(varies || of.queue_depth != 1, "queue depth", of.queue_depth),
    },
    Axis {
        name: "ranks",
        about: "\
Numbers of ranks to measure with, for example 1,2,4,8

For vectored started by mpirun or srun, built with the feature mpi. All ranks of a cell sample it at the same time, each \
on a file, pipe or socket of its own. A range grows as in --segments. Each number is a cell of its own, so that the \
result says how the throughput grows with it.",
        suits: LISTS,
        values: Values::Numbers {
            min: 1,
            max: MAX_RANKS,
            default: Some("all ranks"),
        },
        words: |of, _| Some(format!(", {}", count(of.ranks? as usize, "rank"))),
    },
];

impl Axis {
    /// The option of `vectored measure`, without its hyphens.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Gives this property a value, and gives the properties that depend on this property their usual values.
    pub fn set(&self, to: &mut Conditions, value: &str) -> serde_json::Result<()> {
        let mut all = value_of(to)?;
        // Flags and numbers are JSON; words are not.
        all[self.name] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        *to = serde_json::from_value(all)?;
        match (self.name, to.operation) {
            ("from", _) | ("operation", Operation::Copy) => {
                to.copy_from(to.from.unwrap_or(Target::File));
            }
            ("operation", Operation::Read) if to.target == Target::File => {
                to.page_cache = Some(PageCache::default());
            }
            // A cache that is bypassed has no state.
            ("operation" | "direct", _) => to.page_cache = None,
            _ => {}
        }
        Ok(())
    }

    pub fn is_set(&self, of: &Conditions) -> bool {
        let value = |of: &Conditions| value_of(of).map(|mut all| all[self.name].take());
        value(of).ok() != value(&Conditions::write(of.target)).ok()
    }
}

impl Conditions {
    /// The conditions in words: `file read hot`, `socket /tmp/x`, `pipe, cache cold, layout adjacent`, `file to pipe`.
    /// `varies` says which axes have several values among the titles that are told apart.
    pub fn title(&self, varies: impl Fn(&Axis) -> bool) -> String {
        let mut title = self.ends();
        let words = AXES
            .iter()
            .filter_map(|axis| (axis.words)(self, varies(axis)));
        title.extend(words);
        title
    }
}

fn named(is_named: bool, name: &str, value: impl Display) -> Option<String> {
    is_named.then(|| format!(", {name} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_are_the_fields_that_are_saved() {
        let mut all = Conditions::read(Target::File, PageCache::Hot);
        for axis in AXES {
            axis.set(&mut all, values(axis).last().unwrap()).unwrap();
        }
        let json = serde_json::to_string(&all).unwrap();
        let place = |name: &str| json.find(&format!("\"{name}\":")).unwrap();
        let names = ["target", "path"].into_iter();
        let names: Vec<_> = names.chain(AXES.iter().map(|axis| axis.name)).collect();
        assert_eq!(json.matches("\":").count(), names.len(), "{json}");
        assert!(names.is_sorted_by_key(|name| place(name)), "{json}");
    }

    #[test]
    fn each_value_of_an_axis_is_taken_and_the_first_is_the_default() {
        let usual = Conditions::read(Target::File, PageCache::Hot);
        for axis in AXES {
            let mut write = Conditions::write(Target::File);
            assert!(!axis.is_set(&write), "{}", axis.name);
            axis.set(&mut write, values(axis).last().unwrap()).unwrap();
            assert!(axis.is_set(&write), "{}", axis.name);
            let mut seen = Vec::new();
            for value in values(axis) {
                let mut asked = usual.clone();
                axis.set(&mut asked, value).unwrap();
                assert!(!seen.contains(&asked), "{} {value}", axis.name);
                seen.push(asked);
            }
            let is_word = matches!(axis.values, Values::Word(_) | Values::Words(_));
            if is_word && !["operation", "from"].contains(&axis.name) {
                assert_eq!(seen[0], usual, "{}", axis.name);
            }
            if axis.name == "direct" {
                assert_eq!(seen[0].page_cache, None);
            }
            let mut asked = usual.clone();
            let refused = axis.set(&mut asked, "no such value").is_err();
            assert!(refused, "{}", axis.name);
        }
    }

    fn values(axis: &Axis) -> &'static [&'static str] {
        match axis.values {
            Values::Word(words) | Values::Words(words) => words,
            Values::Flag => &["true"],
            Values::Numbers { .. } | Values::Sizes { .. } => &["1", "2"],
        }
    }

    #[test]
    fn a_title_names_what_differs_from_the_default_or_among_titles() {
        let mut asked = Conditions::read(Target::File, PageCache::Cold);
        asked.path = Some("/tmp/x".to_owned());
        assert_eq!(asked.title(|_| false), "file /tmp/x read cold");
        let mut asked = Conditions::write(Target::Pipe);
        assert_eq!(asked.title(|_| false), "pipe");
        assert_eq!(
            asked.title(|axis| axis.name == "layout"),
            "pipe, layout scattered"
        );
        (asked.direct, asked.sync) = (true, SyncMode::Fsync);
        asked.ranks = Some(4);
        assert_eq!(asked.title(|_| false), "pipe O_DIRECT fsync, 4 ranks");
        let mut asked = Conditions::copy(Target::Pipe, Target::File);
        assert_eq!(asked.title(|_| false), "pipe to file");
        asked.path = Some("/tmp/x".to_owned());
        (asked.buffer_bytes, asked.pipe_bytes) = (Some(4096), Some(1 << 20));
        assert_eq!(
            asked.title(|_| false),
            "pipe to file /tmp/x, buffer 4 KiB, pipe 1 MiB"
        );
    }
}
