//! The number of writes to pipes and sockets bounds the number of reads at the other end: a fast reader makes one read
//! for each write.

use rustc_hash::FxHashMap;

use crate::model::FileCalls;

/// The most streams of a log that are counted; later streams are unknown.
const STREAMS_MAX: usize = 1 << 15;

#[derive(Debug, Default)]
pub(crate) struct StreamWrites(FxHashMap<Vec<u8>, u64>);

impl StreamWrites {
    pub(crate) fn add(&mut self, name: &[u8], writes: u64) {
        let name = parts_of(name).map_or(name.to_vec(), |parts| parts.concat());
        if self.0.len() < STREAMS_MAX || self.0.contains_key(&name) {
            *self.0.entry(name).or_default() += writes;
        }
    }

    /// The most reads that remain with a larger buffer, if the log shows the writes at the other end.
    pub(crate) fn most_reads(&self, reads: &[FileCalls]) -> u64 {
        let most = reads.iter().map(|file| {
            let name = file.path.as_deref().unwrap_or_default().as_bytes();
            let other = parts_of(name).map(|[kind, own, arrow, peer]| [kind, peer, arrow, own]);
            let other = other.map_or(name.to_vec(), |parts| parts.concat());
            self.0.get(&other).copied().unwrap_or(0).min(file.calls)
        });
        most.fold(0, u64::saturating_add)
    }
}

/// The four parts `TCP:[`, A, `->` and B of `TCP:[A->B]`. A path after B is left out. `None` for a pipe: both its ends
/// have the same text.
pub(crate) fn parts_of(name: &[u8]) -> Option<[&[u8]; 4]> {
    let (kind, rest) = name.split_at(name.iter().position(|&byte| byte == b'[')? + 1);
    let ends = rest.split(|&byte| byte == b',').next()?;
    let ends = ends.strip_suffix(b"]").unwrap_or(ends);
    let arrow = ends.windows(2).position(|pair| pair == b"->")?;
    Some([kind, &ends[..arrow], b"->", &ends[arrow + 2..]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writes_of_the_other_end_bound_the_reads() {
        let table = r#"pipe:[7] pipe:[7] 99 30
pipe:[7] pipe:[7] 9 9
pipe:[7] pipe:[8] 99 0
UNIX-STREAM:[8->9] UNIX-STREAM:[9->8,"/run/s"] 99 30
UNIX-STREAM:[8->9] UNIX-STREAM:[8->9] 99 0
TCPv6:[[::1]:80->[::1]:5] TCPv6:[[::1]:5->[::1]:80] 99 30"#;
        for row in table.lines() {
            let [written, read, calls, expected] = row.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{row}");
            };
            let mut writes = StreamWrites::default();
            writes.add(written.as_bytes(), 30);
            let calls = calls.parse().unwrap();
            let path = Some(read.to_owned());
            let file = FileCalls {
                path,
                calls,
                ..FileCalls::default()
            };
            let most = writes.most_reads(&[file]);
            assert_eq!(most.to_string(), expected, "{row}");
        }
    }
}
