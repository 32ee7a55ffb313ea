//! The figures of the ranks of a cluster, explained.

use crate::model::{Results, STRAGGLER};

/// Explains the figures of several ranks.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    if results.ranks.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![
        "Ranks start each sample together, after a barrier, each on a target of its own. The times above, the floor's \
         too, are those of the slowest rank, from its own start to its own end: a program whose ranks wait for each \
         other waits for that one."
            .to_owned(),
        format!(
            "Several ranks: the times are the medians of the fastest and of the slowest rank. Calls per second are \
             those of all ranks together, at the pace of the slowest. A straggler is a rank whose median is more than \
             {STRAGGLER} times that of the median rank. \"Last in\" is the share of its samples in which a rank ended \
             last."
        ),
    ];
    notes.push(
        "Ranks call MPI, which starts threads, and each system call of a process with several threads takes longer: on \
         one machine short calls took 9 to 19 % more. The times are those of an MPI program, and give no cost model."
            .to_owned(),
    );
    notes
}
