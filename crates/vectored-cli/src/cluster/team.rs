//! The ranks of this run.

use std::fs;
use std::iter;

use vectored_lab::measure::{
    Group, MeasureError, Pinning, RankFailure, ThreadGroup, agree, host_name,
};
use vectored_lab::model::{Host, MAX_RANKS, Rank};

use super::launch::Launch;
use crate::failure::Failure;

/// The ranks of this run, seen by one of them.
pub struct Team<'a> {
    /// How they talk.
    pub group: &'a dyn Group,
    /// The name of the node of each.
    hosts: Vec<String>,
    /// The node of each: its name and, since several nodes may have one name, its boot ID.
    nodes: Vec<String>,
}

/// Calls `run` with all ranks, if a launcher started several; otherwise with `None`. `what` is what they would do.
///
/// # Errors
///
/// Several ranks need MPI: a build without it, or with another MPI than the launcher's, would make as many unrelated
/// runs.
pub fn with_team<T>(
    what: &str,
    run: impl FnOnce(Option<&Team<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let launch = Launch::from_environment().filter(|launch| launch.size > 1);
    match launch {
        None => run(None),
        Some(launch) => with_several(launch, what, run),
    }
}

#[cfg(not(feature = "mpi"))]
fn with_several<T>(
    launch: Launch,
    what: &str,
    _: impl FnOnce(Option<&Team<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    Err(Failure::usage(format!(
        "started as one of {} processes ({}), but this vectored was built without MPI, so they would {what} without \
         knowing of each other: build it with the feature mpi (cargo install --locked --path crates/vectored-cli \
         --features mpi), or start it once, without mpirun and srun",
        launch.size, launch.variable
    )))
}

#[cfg(feature = "mpi")]
fn with_several<T>(
    launch: Launch,
    what: &str,
    run: impl FnOnce(Option<&Team<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let process = super::mpi_process::MpiProcess::start(launch);
    let outcome = together(launch, what, &process, run);
    process.end(outcome.as_ref().err());
    outcome
}

#[cfg(feature = "mpi")]
fn together<T>(
    launch: Launch,
    what: &str,
    process: &super::mpi_process::MpiProcess,
    run: impl FnOnce(Option<&Team<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let group = &process.group;
    if group.size() != launch.size {
        return Err(Failure::usage(format!(
            "started as one of {} processes ({}), but the MPI that this vectored was built with ({}) sees {}, so they \
             would {what} without knowing of each other: start it with the mpirun of that MPI, with srun name its \
             interface (srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH), or build vectored with the other MPI",
            launch.size,
            launch.variable,
            process.library,
            group.size()
        )));
    }
    run(Some(&Team::of(group)?))
}

/// Calls `run` with this process as the only rank.
pub fn alone<T>(run: impl FnOnce(&Team<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    let group = ThreadGroup::of(1).remove(0);
    run(&Team::of(&group)?)
}

impl<'a> Team<'a> {
    fn of(group: &'a dyn Group) -> Result<Self, Failure> {
        if group.size() > MAX_RANKS {
            return Err(Failure::usage(format!(
                "cannot run on {} ranks: use at most {MAX_RANKS}",
                group.size()
            )));
        }
        let name = host_name();
        // Random at each start of Linux; elsewhere the name alone has to do.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let nodes = group.gather(format!("{name}\n{boot}").as_bytes());
        let nodes = nodes
            .iter()
            .map(|node| String::from_utf8_lossy(node).into_owned());
        let nodes: Vec<String> = shared(group, &nodes.collect::<Vec<_>>());
        let name_of = |node: &String| node.lines().next().unwrap_or_default().to_owned();
        Ok(Team {
            group,
            hosts: nodes.iter().map(name_of).collect(),
            nodes,
        })
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.group.rank() as usize
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.hosts.len()
    }

    /// The name of the node of another rank.
    pub fn host_of(&self, rank: usize) -> &str {
        &self.hosts[rank]
    }

    /// All ranks on rank 0, which each give the machine that they run on; none on the others.
    pub fn ranks(&self, machine: &Host) -> Vec<Rank> {
        let own = Rank {
            rank: self.group.rank(),
            host: self.host().to_owned(),
            kernel: machine.kernel.clone(),
            cpu: machine.cpu.model.clone(),
            pinned_cpu: machine.pinned_cpu,
            ..Rank::default()
        };
        let texts = self.group.gather(&serde_json::to_vec(&own).expect(SOUND));
        let ranks = texts
            .iter()
            .map(|text| serde_json::from_slice(text).expect(SOUND));
        ranks.collect()
    }

    /// Whether this is rank 0, which speaks for all.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// The name of this rank's node.
    pub fn host(&self) -> &str {
        &self.hosts[self.rank()]
    }

    /// The value that rank 0 has.
    pub fn shared<T: serde::Serialize + serde::de::DeserializeOwned>(&self, value: &T) -> T {
        shared(self.group, value)
    }

    /// Returns `outcome` if it is `Ok` on every rank. Otherwise rank 0 learns which failed, and the others that one did.
    pub fn agree<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        let own_code = outcome.as_ref().err().map(|failure| failure.code);
        let outcome = outcome.map_err(|failure| format!("{:#}", failure.error));
        agree(self.group, self.host(), outcome).map_err(|error| {
            let failure = match &error {
                // Such as an option that all of them were given.
                MeasureError::Ranks(failed) if self.is_same_for_all(failed) => {
                    Failure::from(anyhow::anyhow!("{}", failed[0].message))
                }
                _ => Failure::from(error),
            };
            Failure {
                // Rank 0 fails for all: a launcher kills it before it has said why if another rank ends with an error.
                code: match self.is_first() {
                    true => own_code.unwrap_or(1),
                    false => 0,
                },
                ..failure
            }
        })
    }

    /// Whether every rank failed, and all for the same reason.
    fn is_same_for_all(&self, failed: &[RankFailure]) -> bool {
        failed.len() == self.hosts.len()
            && failed.iter().all(|one| one.message == failed[0].message)
    }

    /// The texts of all ranks on rank 0; none on the others.
    pub fn gather(&self, text: &str) -> Vec<String> {
        let texts = self.group.gather(text.as_bytes()).into_iter();
        texts
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .collect()
    }

    /// Whether no rank with a lower number is on this node.
    pub fn is_first_on_node(&self) -> bool {
        self.place_on_node() == 0
    }

    /// The ranks on this node with lower numbers.
    fn place_on_node(&self) -> usize {
        let own = &self.nodes[self.rank()];
        let lower = &self.nodes[..self.rank()];
        lower.iter().filter(|node| *node == own).count()
    }

    /// The ranks on this node.
    fn ranks_on_node(&self) -> usize {
        let own = &self.nodes[self.rank()];
        self.nodes.iter().filter(|node| *node == own).count()
    }

    /// The CPU for this rank. By default the ranks of a node take its CPUs in turn: the current CPUs of two may be the
    /// same.
    pub fn pinning(&self, wanted: Option<Pinning>, allowed: &[usize]) -> Result<Pinning, Failure> {
        match wanted {
            Some(Pinning::Cpu(cpu)) if self.ranks_on_node() > 1 => Err(Failure::usage(format!(
                "--pin {cpu} would put the {} ranks of a node on one CPU: use --pin none, or omit --pin, which gives \
                 each a CPU in turn",
                self.ranks_on_node()
            ))),
            Some(pinning) => Ok(pinning),
            None if self.ranks_on_node() == 1 || allowed.is_empty() => Ok(Pinning::default()),
            None => Ok(Pinning::Cpu(allowed[self.place_on_node() % allowed.len()])),
        }
    }

    /// Warnings about ranks that disturb each other.
    pub fn crowding(&self, ranks: &[Rank]) -> Vec<String> {
        let mut seen: Vec<(&str, usize)> = Vec::new();
        let mut crowded: Vec<&str> = Vec::new();
        for (rank, node) in iter::zip(ranks, &self.nodes) {
            let Some(cpu) = rank.pinned_cpu else { continue };
            let place = (node.as_str(), cpu);
            match seen.contains(&place) {
                true if !crowded.contains(&&*rank.host) => crowded.push(&rank.host),
                true => {}
                false => seen.push(place),
            }
        }
        if crowded.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "ranks on {} share CPUs, so they take turns instead of working at the same time: start at most as many \
             ranks on a node as it has CPUs",
            crowded.join(", ")
        )]
    }

    /// The CPU for the reader threads of this rank, beside those of the ranks themselves, if there are as many.
    pub fn reader_cpu(
        &self,
        pins: (Option<usize>, Option<usize>),
        allowed: &[usize],
    ) -> Option<usize> {
        let ranks = self.ranks_on_node();
        let (Some(_), true) = (pins.0, ranks > 1 && allowed.len() >= 2 * ranks) else {
            return pins.1;
        };
        Some(allowed[ranks + self.place_on_node()])
    }
}

const SOUND: &str = "plain data of one program";

fn shared<T: serde::Serialize + serde::de::DeserializeOwned>(group: &dyn Group, value: &T) -> T {
    let mut text = serde_json::to_vec(value).expect(SOUND);
    let mut length = (text.len() as u64).to_le_bytes();
    group.broadcast(&mut length);
    text.resize(u64::from_le_bytes(length) as usize, 0);
    group.broadcast(&mut text);
    serde_json::from_slice(&text).expect(SOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(group: &ThreadGroup, nodes: [&str; 4]) -> Vec<(usize, Pinning, Option<usize>)> {
        let _ = group;
        (0..4)
            .map(|rank| {
                let groups = ThreadGroup::of(4);
                let team = Team {
                    group: &groups[rank],
                    hosts: vec!["n".to_owned(); 4],
                    nodes: nodes.map(str::to_owned).to_vec(),
                };
                let allowed = [0, 1, 2, 3, 4];
                let pinning = team.pinning(None, &allowed).unwrap();
                let reader = team.reader_cpu((Some(0), Some(9)), &allowed);
                (team.place_on_node(), pinning, reader)
            })
            .collect()
    }

    #[test]
    fn the_ranks_of_a_node_take_its_cpus_in_turn() {
        let group = ThreadGroup::of(1).remove(0);
        let of = team(&group, ["a", "b", "a", "a"]);
        let places: Vec<usize> = of.iter().map(|(place, ..)| *place).collect();
        assert_eq!(places, [0, 0, 1, 2]);
        assert_eq!(of[0].1, Pinning::Cpu(0));
        assert_eq!(of[1].1, Pinning::default());
        assert_eq!(of[3].1, Pinning::Cpu(2));
        // Five CPUs are too few for three ranks and their readers.
        assert_eq!(of[3].2, Some(9));
        let of = team(&group, ["a", "b", "a", "b"]);
        assert_eq!((of[2].2, of[3].2), (Some(3), Some(3)));
    }

    #[test]
    fn ranks_that_share_a_cpu_of_a_node_are_warned_of() {
        let group = ThreadGroup::of(1).remove(0);
        let crowding = |nodes: [&str; 3], cpus: [Option<usize>; 3]| {
            let rank = |(node, cpu): (&str, Option<usize>)| Rank {
                host: node[..1].to_owned(),
                pinned_cpu: cpu,
                ..Rank::default()
            };
            let ranks: Vec<Rank> = iter::zip(nodes, cpus).map(rank).collect();
            let team = Team {
                group: &group,
                hosts: ranks.iter().map(|rank| rank.host.clone()).collect(),
                nodes: nodes.map(str::to_owned).to_vec(),
            };
            team.crowding(&ranks)
        };
        assert!(crowding(["a", "a", "b"], [Some(0), Some(1), Some(0)]).is_empty());
        // Two nodes of one name.
        assert!(crowding(["a 1", "a 2", "b"], [Some(0); 3]).is_empty());
        assert!(crowding(["a", "b", "b"], [Some(0); 3])[0].starts_with("ranks on b share CPUs"));
        assert!(crowding(["a", "a", "a"], [None; 3]).is_empty());
    }
}
