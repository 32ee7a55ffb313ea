//! All programs, and the cases that the options choose.

use crate::programs::case::{Case, Kind, Program};
use crate::programs::framed::FRAMED;
use crate::programs::grpc::GRPC;
use crate::programs::http1::HTTP1;
use crate::programs::http2::HTTP2;
use crate::programs::logs::LOGS;
use crate::programs::resp::RESP;
use crate::programs::tar_archive::TAR;
use crate::programs::wal::WAL;

/// The programs, in the order of the tables.
pub const PROGRAMS: &[Program] = &[RESP, FRAMED, GRPC, LOGS, TAR, WAL, HTTP1, HTTP2];

/// The most bytes of a request: a longer request is not measured.
pub const MAX_REQUEST_BYTES: usize = 64 << 20;

/// The cases of `programs`. If sizes or counts are given, they replace the sizes or counts of the default cases.
pub fn cases(
    programs: &[Program],
    sizes: Option<&[usize]>,
    counts: Option<&[usize]>,
) -> Vec<(Program, Case)> {
    let mut all = Vec::new();
    for &program in programs {
        for kind in program.kinds {
            for (bytes, count) in grid(kind, sizes, counts) {
                let case = Case {
                    program: program.name,
                    kind: kind.name,
                    bytes,
                    count,
                };
                if bytes.saturating_mul(count) <= MAX_REQUEST_BYTES {
                    all.push((program, case));
                }
            }
        }
    }
    all
}

fn grid(kind: &Kind, sizes: Option<&[usize]>, counts: Option<&[usize]>) -> Vec<(usize, usize)> {
    if sizes.is_none() && (counts.is_none() || kind.is_single) {
        return kind.defaults.to_vec();
    }
    let distinct = |of: fn(&(usize, usize)) -> usize| {
        let mut all: Vec<usize> = kind.defaults.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let sizes = sizes.map_or_else(|| distinct(|case| case.0), <[usize]>::to_vec);
    let counts = match counts {
        Some(counts) if !kind.is_single => counts.to_vec(),
        _ => distinct(|case| case.1),
    };
    let with_counts = |bytes| counts.iter().map(move |&count| (bytes, count));
    sizes.into_iter().flat_map(with_counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: "some",
        defaults: &[(100, 1), (100, 64), (4096, 16)],
        is_single: false,
    };

    #[test]
    fn given_sizes_and_counts_replace_the_default_ones() {
        assert_eq!(grid(&KIND, None, None), KIND.defaults);
        let all = [(7, 1), (7, 16), (7, 64)];
        assert_eq!(grid(&KIND, Some(&[7]), None), all);
        assert_eq!(grid(&KIND, None, Some(&[2])), [(100, 2), (4096, 2)]);
        assert_eq!(grid(&KIND, Some(&[7, 9]), Some(&[2])), [(7, 2), (9, 2)]);
    }

    #[test]
    fn a_kind_of_one_value_takes_no_count() {
        let single = Kind {
            name: "single",
            defaults: &[(100, 1), (4096, 1)],
            is_single: true,
        };
        assert_eq!(grid(&single, None, Some(&[5])), single.defaults);
        assert_eq!(grid(&single, Some(&[7]), Some(&[5])), [(7, 1)]);
    }

    #[test]
    fn by_default_there_are_at_least_thirty_cases_of_six_programs() {
        let all = cases(PROGRAMS, None, None);
        assert!(all.len() >= 30, "{}", all.len());
        assert!(PROGRAMS.len() >= 6);
    }
}
