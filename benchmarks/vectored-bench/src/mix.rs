//! Mixes: lists of segments of several sizes, as real programs write them.

use std::fmt;

use vectored_results::model::Workload;

/// A list with segments of several sizes, modelled on one kind of program. The sizes are fixed, so that
/// runs can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mix {
    /// An HTTP response: twelve segments of a header and a body of the given bytes.
    Http(usize),
    /// 64 log lines of six segments each.
    LogLines,
    /// A thousand replies: nine of 16 B and one of 4 KiB, again and again.
    Replies,
    /// A write-ahead log: 64 records, each a header of 24 B, a payload of the given bytes and a trailer of
    /// 4 B.
    Wal(usize),
    /// 64 pages of 8 KiB, as databases write them. All pages have one size, but the list counts as a mix.
    Pages,
}

/// Segments of an HTTP header: names, separators and values, 5 to 90 B.
const HEADER: [usize; 12] = [15, 6, 29, 5, 90, 8, 24, 12, 61, 17, 5, 43];

/// Segments of a log line: time stamp, level, module, message, key and line end.
const LINE: [usize; 6] = [24, 5, 12, 48, 9, 1];

impl Mix {
    /// Every mix, in the order of the tables.
    pub const ALL: [Mix; 9] = [
        Mix::Http(2 << 10),
        Mix::Http(64 << 10),
        Mix::LogLines,
        Mix::Replies,
        Mix::Wal(100),
        Mix::Wal(1 << 10),
        Mix::Wal(4 << 10),
        Mix::Wal(32 << 10),
        Mix::Pages,
    ];

    /// The list of segment sizes.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored_bench::mix::Mix;
    ///
    /// assert_eq!(Mix::Wal(100).workload().sizes()[..4], [24, 100, 4, 24]);
    /// ```
    pub fn workload(self) -> Workload {
        Workload::from_sizes(match self {
            Mix::Http(body) => [&HEADER[..], &[body]].concat(),
            // Messages have 24 to 87 bytes.
            Mix::LogLines => (0..64)
                .flat_map(|line| LINE.map(|bytes| if bytes == 48 { 24 + line } else { bytes }))
                .collect(),
            Mix::Replies => (1..=1000)
                .map(|reply: usize| if reply.is_multiple_of(10) { 4096 } else { 16 })
                .collect(),
            Mix::Wal(payload) => [24, payload, 4].repeat(64),
            Mix::Pages => vec![8 << 10; 64],
        })
    }

    /// The mix with these runs of `(count, bytes)`, the form in which results store a list.
    pub fn of_runs(runs: &[(usize, usize)]) -> Option<Mix> {
        Mix::ALL
            .into_iter()
            .find(|mix| mix.workload().runs() == runs)
    }

    /// Whether the list has long runs of small segments, which are cheaper to copy. The library's strictest promise is for such
    /// lists.
    pub fn is_of_small_records(self) -> bool {
        matches!(self, Mix::LogLines | Mix::Replies | Mix::Wal(100))
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Mix::Http(body) => format!("http-{}", size(*body)),
            Mix::LogLines => "log-lines".to_owned(),
            Mix::Replies => "replies".to_owned(),
            Mix::Wal(payload) => format!("wal-{}", size(*payload)),
            Mix::Pages => "pages".to_owned(),
        };
        f.pad(&name)
    }
}

fn size(bytes: usize) -> String {
    match bytes % 1024 {
        0 => format!("{}k", bytes / 1024),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_known_by_its_runs() {
        for mix in Mix::ALL {
            assert_eq!(Mix::of_runs(&mix.workload().runs()), Some(mix), "{mix}");
        }
        assert_eq!(Mix::of_runs(&[(2, 100)]), None);
    }

    #[test]
    fn the_lists_are_what_they_are_said_to_be() {
        let sizes = |mix: Mix| mix.workload().sizes().to_vec();
        let http = sizes(Mix::Http(2048));
        assert_eq!(http.len(), 13);
        assert!(http[..12].iter().all(|bytes| (5..=90).contains(bytes)));
        assert_eq!(sizes(Mix::LogLines).len(), 64 * 6);
        let replies = sizes(Mix::Replies);
        let large = replies.iter().filter(|&&bytes| bytes == 4096).count();
        assert_eq!((replies.len(), large), (1000, 100));
        assert_eq!(sizes(Mix::Wal(1024)).len(), 64 * 3);
        assert_eq!(Mix::Pages.workload().total_bytes(), 512 << 10);
    }
}
