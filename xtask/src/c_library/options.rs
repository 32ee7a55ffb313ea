//! Where the C library is installed.

use std::path::{Path, PathBuf};

/// The folders of an installation.
#[derive(clap::Args)]
pub struct Place {
    /// The folder that programs find it in
    #[arg(long, default_value = "/usr/local")]
    pub prefix: PathBuf,
    /// The folder of libraries within the prefix: `lib/x86_64-linux-gnu` in a Debian package
    #[arg(long, default_value = "lib")]
    pub libdir: PathBuf,
    /// The root of a package that is being built: files go to the prefix within it
    #[arg(long, value_name = "DIR")]
    pub destdir: Option<PathBuf>,
}

impl Place {
    /// An installation into a folder, with `lib` in it.
    pub fn in_folder(prefix: &Path) -> Place {
        Place {
            prefix: prefix.to_owned(),
            libdir: "lib".into(),
            destdir: None,
        }
    }

    /// The folder that the files are copied to.
    pub fn root(&self) -> PathBuf {
        let Some(destdir) = &self.destdir else {
            return self.prefix.clone();
        };
        destdir.join(self.prefix.strip_prefix("/").unwrap_or(&self.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_package_go_to_its_root() {
        let mut place = Place::in_folder(Path::new("/usr"));
        assert_eq!(place.root(), Path::new("/usr"));
        place.destdir = Some("/tmp/package".into());
        assert_eq!(place.root(), Path::new("/tmp/package/usr"));
    }
}
