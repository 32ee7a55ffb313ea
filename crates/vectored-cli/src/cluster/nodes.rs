//! Finds the node of each rank, and distributes the CPUs of a node among its ranks.

use std::iter;

use vectored_machine::host::Pinning;
use vectored_results::model::Rank;

use crate::failure::Failure;

pub struct Nodes {
    /// For each rank: a line with the name of its node, and the boot ID. Several nodes may have the same name.
    pub of_ranks: Vec<String>,
    pub rank: usize,
}

impl Nodes {
    fn place(&self) -> usize {
        self.on_this_node(&self.of_ranks[..self.rank])
    }

    fn size(&self) -> usize {
        self.on_this_node(&self.of_ranks)
    }

    fn on_this_node(&self, nodes: &[String]) -> usize {
        let own = &self.of_ranks[self.rank];
        nodes.iter().filter(|node| *node == own).count()
    }

    /// Chooses the CPU of this rank. By default, the ranks of a node take the allowed CPUs in turn. Ranks are not
    /// pinned to their current CPUs, because the current CPUs of two ranks may be the same.
    pub fn pinning(&self, wanted: Option<Pinning>, allowed: &[usize]) -> Result<Pinning, Failure> {
        match (wanted, self.size()) {
            (Some(Pinning::Cpu(cpu)), ranks @ 2..) => Err(Failure::usage(format!(
                "--pin {cpu} would put the {ranks} ranks of a node on one CPU: use --pin none, or omit --pin, which \
                 gives each a CPU in turn"
            ))),
            (Some(pinning), _) => Ok(pinning),
            (None, 2..) if !allowed.is_empty() => {
                Ok(Pinning::Cpu(allowed[self.place() % allowed.len()]))
            }
            (None, _) => Ok(Pinning::default()),
        }
    }

    /// If `allowed` has two CPUs for each rank, the readers of a rank use the second CPU. If not, they use `pins.1`.
    pub fn reader_cpu(
        &self,
        pins: (Option<usize>, Option<usize>),
        allowed: &[usize],
    ) -> Option<usize> {
        let ranks = self.size();
        if pins.0.is_some() && ranks > 1 && allowed.len() >= 2 * ranks {
            Some(allowed[ranks + self.place()])
        } else {
            pins.1
        }
    }

    /// Warns about ranks that disturb each other.
    pub fn crowding(&self, ranks: &[Rank]) -> Option<String> {
        let mut seen: Vec<(&str, usize)> = Vec::new();
        let mut crowded: Vec<&str> = Vec::new();
        for (rank, node) in iter::zip(ranks, &self.of_ranks) {
            let Some(cpu) = rank.pinned_cpu else { continue };
            if !seen.contains(&(node, cpu)) {
                seen.push((node, cpu));
            } else if !crowded.contains(&&*rank.host) {
                crowded.push(&rank.host);
            }
        }
        (!crowded.is_empty()).then(|| {
            format!(
                "ranks on {} share CPUs, so they take turns instead of working at the same time: start at most as \
                 many ranks on a node as it has CPUs",
                crowded.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes<const N: usize>(names: [&str; N], rank: usize) -> Nodes {
        Nodes {
            of_ranks: names.map(str::to_owned).to_vec(),
            rank,
        }
    }

    #[test]
    fn the_ranks_of_a_node_take_its_cpus_in_turn() {
        let allowed = [0, 1, 2, 3, 4];
        let pinning = |names: [&str; 4]| {
            [0, 1, 2, 3].map(|rank| nodes(names, rank).pinning(None, &allowed).unwrap())
        };
        let others = Pinning::default();
        assert_eq!(
            pinning(["a", "b", "a", "a"]),
            [Pinning::Cpu(0), others, Pinning::Cpu(1), Pinning::Cpu(2)]
        );
        let reader =
            |names: [&str; 4], rank| nodes(names, rank).reader_cpu((Some(0), Some(9)), &allowed);
        // Three ranks with a reader each need six CPUs, and the node has five.
        assert_eq!(reader(["a", "b", "a", "a"], 3), Some(9));
        assert_eq!(reader(["a", "b", "a", "b"], 2), Some(3));
        assert_eq!(reader(["a", "b", "a", "b"], 3), Some(3));
        let same = nodes(["a", "a"], 1).pinning(Some(Pinning::Cpu(1)), &allowed);
        assert!(
            same.unwrap_err()
                .error
                .to_string()
                .contains("2 ranks of a node")
        );
    }

    #[test]
    fn ranks_that_share_a_cpu_of_a_node_are_warned_of() {
        let crowding = |names: [&str; 3], cpus: [Option<usize>; 3]| {
            let rank = |(node, cpu): (&str, Option<usize>)| Rank {
                host: node[..1].to_owned(),
                pinned_cpu: cpu,
                ..Rank::default()
            };
            let ranks: Vec<Rank> = iter::zip(names, cpus).map(rank).collect();
            nodes(names, 0).crowding(&ranks)
        };
        assert_eq!(crowding(["a", "a", "b"], [Some(0), Some(1), Some(0)]), None);
        // Two different nodes have the name `a`.
        assert_eq!(crowding(["a 1", "a 2", "b"], [Some(0); 3]), None);
        let warning = crowding(["a", "b", "b"], [Some(0); 3]).unwrap();
        assert!(warning.starts_with("ranks on b share CPUs"));
        assert_eq!(crowding(["a", "a", "a"], [None; 3]), None);
    }
}
