//! Ranks of a cluster: started by `mpirun` or `srun`, joined by MPI (feature `mpi`).
//!
//! Each rank has a second process, which calls MPI for it: [`mpi`]. The rank itself has one thread, as without MPI.

mod launch;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "mpi")]
mod mpi_process;
#[cfg(all(unix, any(feature = "mpi", test)))]
mod remote_group;
#[cfg(all(unix, any(feature = "mpi", test)))]
mod served;
mod team;
#[cfg(all(unix, any(feature = "mpi", test)))]
mod wire;

pub use launch::Launch;
pub use team::{Team, alone, with_team};
