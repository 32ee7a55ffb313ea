//! Opens the file or the two ends of the stream that a calibration writes to.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use crate::descriptor::AsDescriptor;

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

pub(super) use system::{pipe, unix_pair, unnamed_file};

pub(super) type Ends = (Box<dyn AsDescriptor>, Box<dyn Read>);

/// The writing end of the TCP connection does not block.
pub(super) fn tcp_pair() -> io::Result<Ends> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (reader, from) = listener.accept()?;
        // Any process on this machine may connect.
        if from == writer.local_addr()? {
            writer.set_nodelay(true)?;
            writer.set_nonblocking(true)?;
            reader.set_read_timeout(Some(Duration::from_secs(5)))?;
            return Ok((Box::new(writer), Box::new(reader)));
        }
    }
}

pub(super) fn null_device() -> io::Result<File> {
    let path = if cfg!(windows) { "NUL" } else { "/dev/null" };
    File::options().write(true).open(path)
}
