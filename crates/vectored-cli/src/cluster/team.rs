//! The ranks of this run.

use std::fs;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vectored_machine::host::host_name;
use vectored_machine::model::Host;
use vectored_measure::measure::{Group, MeasureError, RankFailure, agree, gathered, give, receive};
use vectored_results::model::{MAX_RANKS, Rank};

use super::launch::Launch;
use super::nodes::Nodes;
use crate::failure::Failure;

/// The ranks of this run, seen by one of them.
pub struct Team {
    /// The connection between the ranks. Dropping the connection ends MPI.
    pub group: Box<dyn Group>,
    pub nodes: Nodes,
}

impl Team {
    /// All ranks, if a launcher started several.
    ///
    /// # Errors
    ///
    /// Several ranks need MPI. A build without MPI, or with another MPI than the launcher's, would make unrelated runs, one
    /// for each rank.
    pub fn join() -> Result<Option<Team>, Failure> {
        let launch = Launch::from_environment().filter(|launch| launch.size > 1);
        launch.map(|launch| Team::new(joined(launch)?)).transpose()
    }

    fn new(group: Box<dyn Group>) -> Result<Self, Failure> {
        if group.size() > MAX_RANKS {
            return Err(Failure::usage(format!(
                "cannot run on {} ranks: use at most {MAX_RANKS}",
                group.size()
            )));
        }
        // On Linux, this ID is random at each start. Elsewhere, a node is known by its name alone.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let nodes = gathered(&*group, &format!("{}\n{boot}", host_name()));
        let nodes = Nodes {
            of_ranks: shared(&*group, nodes),
            rank: group.rank() as usize,
        };
        Ok(Team { group, nodes })
    }

    pub fn rank(&self) -> u32 {
        self.group.rank()
    }

    /// Whether this is rank 0, which speaks for all.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    pub fn host(&self) -> &str {
        let node = &self.nodes.of_ranks[self.nodes.rank];
        node.lines().next().unwrap_or_default()
    }

    /// All ranks, each with the machine that it runs on. Empty on ranks other than rank 0.
    pub fn ranks(&self, machine: &Host) -> Vec<Rank> {
        let own = Rank {
            rank: self.rank(),
            host: self.host().to_owned(),
            kernel: machine.kernel.clone(),
            cpu: machine.cpu.model.clone(),
            pinned_cpu: machine.pinned_cpu,
            ..Rank::default()
        };
        gathered(&*self.group, &own)
    }

    pub fn shared<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        shared(&*self.group, value)
    }

    /// Returns `outcome` if it is `Ok` on every rank. Otherwise rank 0 learns which ranks failed, and the other ranks learn
    /// that a rank failed.
    pub fn agree<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        let own_code = outcome.as_ref().err().map(|failure| failure.code);
        let outcome = outcome.map_err(|failure| format!("{:#}", failure.error));
        agree(&*self.group, self.host(), outcome).map_err(|error| {
            let failure = match &error {
                // All ranks failed for the same reason, for example an option that all ranks were given.
                MeasureError::Ranks(failed) if self.is_same_for_all(failed) => {
                    Failure::from(anyhow::anyhow!("{}", failed[0].message))
                }
                _ => Failure::from(error),
            };
            Failure {
                // Rank 0 fails for all ranks. If another rank ended with an error, the launcher would kill rank 0
                // before rank 0 has said why.
                code: if self.is_first() { own_code.unwrap_or(1) } else { 0 },
                ..failure
            }
        })
    }

    /// Whether every rank failed, and all for the same reason.
    fn is_same_for_all(&self, failed: &[RankFailure]) -> bool {
        failed.len() == self.group.size() as usize
            && failed.iter().all(|one| one.message == failed[0].message)
    }
}

fn shared<T: Serialize + DeserializeOwned>(group: &dyn Group, value: T) -> T {
    if group.rank() > 0 {
        return receive(group);
    }
    give(group, &value).expect("plain data");
    value
}

#[cfg(not(feature = "mpi"))]
fn joined(launch: Launch) -> Result<Box<dyn Group>, Failure> {
    Err(Failure::usage(format!(
        "started as one of {} processes ({}), but this vectored was built without MPI, so they would measure without \
         knowing of each other: build it with the feature mpi (cargo install --locked --path crates/vectored-cli \
         --features mpi), or start it once, without mpirun and srun",
        launch.size, launch.variable
    )))
}

#[cfg(feature = "mpi")]
fn joined(launch: Launch) -> Result<Box<dyn Group>, Failure> {
    let group = super::mpi::join()?;
    if group.size() == launch.size {
        return Ok(Box::new(group));
    }
    Err(Failure::usage(format!(
        "started as one of {} processes ({}), but the MPI that this vectored was built with ({}) sees {}, so they \
         would measure without knowing of each other: start it with the mpirun of that MPI, with srun name its \
         interface (srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH), or build vectored with the other MPI",
        launch.size,
        launch.variable,
        super::mpi::library(),
        group.size()
    )))
}
