//! A hyper server with the settings that a cost model chooses for its bodies.
//!
//! hyper writes the head and the body of a response as a list, or it copies both into one buffer: the choice holds for all responses of
//! a connection. Copying pays for bodies below two thresholds of the model:
//!
//! - Up to `copy_below_bytes(2)`, copying the body costs less than a second segment: `writev(false)`. On
//!   the machine where the default models were measured, a list became faster under hyper at a size between 4 and 8 KiB.
//! - Up to `join_below_bytes`, copying the body costs less than a call. So if clients send requests without waiting for
//!   answers, one call for all answers that are ready is cheaper: `pipeline_flush(true)`, which also copies. hyper then
//!   buffers answers without a limit: a client that sends requests and reads nothing makes the server hold all answers. So
//!   `pipeline_flush` is for clients that you trust.
//!
//! Longer bodies keep hyper's default, a list. Measure the thresholds on your machine with [`CostModel::calibrate`].
//!
//! ```text
//! cargo run --manifest-path benchmarks/Cargo.toml --example hyper_server
//! ```

use std::convert::Infallible;
use std::error::Error;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vectored::CostModel;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

/// The choice of the model for bodies of one size.
#[derive(Debug, PartialEq)]
struct Setting {
    /// `None` keeps hyper's default: a list, if the transport takes lists.
    writev: Option<bool>,
    pipeline_flush: bool,
}

impl Setting {
    fn choose(model: &CostModel, body_bytes: usize, trusted_clients_pipeline: bool) -> Setting {
        let copies_body = body_bytes <= model.copy_below_bytes(2);
        Setting {
            writev: copies_body.then_some(false),
            pipeline_flush: trusted_clients_pipeline
                && body_bytes < QueuePolicy::from_model(model).join_below_bytes,
        }
    }

    fn builder(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        if let Some(writev) = self.writev {
            builder.writev(writev);
        }
        builder.pipeline_flush(self.pipeline_flush);
        builder
    }
}

async fn serve(socket: TcpStream, setting: &Setting, body: Bytes) -> hyper::Result<()> {
    let service = service_fn(async |_: Request<Incoming>| {
        Ok::<_, Infallible>(Response::new(Full::new(body.clone())))
    });
    let builder = setting.builder();
    builder
        .serve_connection(TokioIo::new(socket), service)
        .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = CostModel::for_target(TargetKind::Tcp);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    for body_bytes in [100, 10_000, 1_000_000] {
        let setting = Setting::choose(&model, body_bytes, true);
        println!("bodies of {body_bytes} bytes: {setting:?}");
        let client = TcpStream::connect(listener.local_addr()?).await?;
        let (server, _) = listener.accept().await?;
        let body = Bytes::from(vec![b'x'; body_bytes]);
        let (served, received) = tokio::join!(serve(server, &setting, body), request_twice(client));
        served?;
        let bodies = received?.iter().filter(|byte| **byte == b'x').count();
        assert_eq!(bodies, 2 * body_bytes);
    }
    Ok(())
}

/// Sends two requests at once and receives both answers.
async fn request_twice(mut client: TcpStream) -> std::io::Result<Vec<u8>> {
    let first = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let second = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client
        .write_all([first, second].concat().as_bytes())
        .await?;
    let mut received = Vec::new();
    client.read_to_end(&mut received).await?;
    Ok(received)
}
