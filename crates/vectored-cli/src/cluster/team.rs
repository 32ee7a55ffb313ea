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

/// All ranks of the run, from the view of one rank.
pub struct Team {
    /// Dropping the group finalizes MPI.
    pub group: Box<dyn Group>,
    pub nodes: Nodes,
}

impl Team {
    /// Returns `None` if no launcher started several ranks.
    ///
    /// # Errors
    ///
    /// The function fails if several ranks were started and this build has no MPI, or has another MPI than the
    /// launcher. Each rank would be a run without connection to the other ranks.
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
        // Linux generates a random boot ID at each start. On other systems, the name identifies the node.
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

    /// Rank 0 prints and saves for all ranks.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    pub fn host(&self) -> &str {
        let node = &self.nodes.of_ranks[self.nodes.rank];
        node.lines().next().unwrap_or_default()
    }

    /// Returns each rank with its machine. The list is empty on all ranks except rank 0.
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

    /// Returns `outcome` if all ranks have `Ok`. After a failure, rank 0 gets the list of failed ranks. Each other
    /// rank gets an error without the list.
    pub fn agree<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        let own_code = outcome.as_ref().err().map(|failure| failure.code);
        let outcome = outcome.map_err(|failure| format!("{:#}", failure.error));
        agree(&*self.group, self.host(), outcome).map_err(|error| {
            let failure = match &error {
                // An option that all ranks received is an example of a common reason.
                MeasureError::Ranks(failed) if self.is_same_for_all(failed) => {
                    Failure::from(anyhow::anyhow!("{}", failed[0].message))
                }
                _ => Failure::from(error),
            };
            Failure {
                // Rank 0 reports the failure. The other ranks exit with 0. After a nonzero exit status of another
                // rank, a launcher would kill rank 0 before rank 0 has printed the reason.
                code: if self.is_first() { own_code.unwrap_or(1) } else { 0 },
                ..failure
            }
        })
    }

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
