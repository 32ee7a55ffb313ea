//! Processes that `mpirun` or `srun` started as ranks, connected by MPI (feature `mpi`).

mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod nodes;
mod team;

pub use launch::Launch;
pub use team::Team;
