//! Ranks of a cluster: started by `mpirun` or `srun`, joined by MPI (feature `mpi`).

mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod nodes;
mod team;

pub use launch::Launch;
pub use team::Team;
