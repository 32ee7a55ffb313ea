//! How this process was started, by the environment that `mpirun` and `srun` set.

use std::env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub size: u32,
    pub rank: u32,
    /// The environment variable with the number of processes.
    pub variable: &'static str,
}

/// The variables with the number of processes, and with the number of this process. The innermost launcher comes
/// first: `mpirun` in a job of Slurm.
const VARIABLES: [(&str, &str); 3] = [
    // Open MPI.
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    // MPICH and its relatives, and `srun --mpi=pmi2`.
    ("PMI_SIZE", "PMI_RANK"),
    // `srun`.
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

impl Launch {
    /// Reads this process's environment. `None` if no launcher started this process.
    pub fn from_environment() -> Option<Launch> {
        Launch::from_variables(|name| env::var(name).ok())
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Option<Launch> {
        let number = |name: &str| value(name)?.trim().parse().ok();
        VARIABLES.into_iter().find_map(|(size, rank)| {
            Some(Launch {
                size: number(size)?,
                rank: number(rank)?,
                variable: size,
            })
        })
    }

    /// Whether this process is one of several, but not the first. The first process speaks for all.
    pub fn is_other_rank() -> bool {
        Launch::from_environment().is_some_and(|launch| launch.size > 1 && launch.rank > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Option<Launch> {
        Launch::from_variables(|name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn the_innermost_launcher_tells_the_number_of_ranks() {
        assert_eq!(launch(&[]), None);
        let slurm = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "7")];
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")];
        let of_open_mpi = launch(&[slurm, open_mpi].concat()).unwrap();
        assert_eq!((of_open_mpi.size, of_open_mpi.rank), (4, 3));
        assert_eq!(of_open_mpi.variable, "OMPI_COMM_WORLD_SIZE");
    }
}
