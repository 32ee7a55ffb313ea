//! A client that sends all requests, then reads and compares the answers.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub async fn run() -> io::Result<()> {
    let long = "x".repeat(20_000);
    let set = format!("SET key {long}");
    let bulk = format!("$20000\r\n{long}\r\n");
    let exchanges = [
        ("PING", "+PONG\r\n".to_owned()),
        (&set, "+OK\r\n".to_owned()),
        ("get key", bulk.clone()),
        ("MGET key none key", format!("*3\r\n{bulk}$-1\r\n{bulk}")),
        ("RPUSH list a", ":1\r\n".to_owned()),
        ("RPUSH list bc", ":2\r\n".to_owned()),
        (
            "LRANGE list 0 -1",
            "*2\r\n$1\r\na\r\n$2\r\nbc\r\n".to_owned(),
        ),
        ("LRANGE list 1 1", "*1\r\n$2\r\nbc\r\n".to_owned()),
        ("LRANGE list 7 8", "*0\r\n".to_owned()),
        ("LRANGE none 0 -1", "*0\r\n".to_owned()),
        (
            "QUIT now",
            "-ERR unknown command or arguments\r\n".to_owned(),
        ),
    ];
    let expected: String = exchanges
        .iter()
        .map(|(_, answer)| answer.as_str())
        .collect();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;
    let (mut answers, mut requests) = client.into_split();
    let send = async {
        for (request, _) in &exchanges {
            requests.write_all(encode(request).as_bytes()).await?;
        }
        requests.shutdown().await
    };
    let mut received = String::new();
    let receive = answers.read_to_string(&mut received);
    let (served, sent, read) = tokio::join!(crate::serve(server, Arc::default()), send, receive);
    served.and(sent).and(read)?;
    assert_eq!(received, expected);
    println!("{} answers are as expected", exchanges.len());
    Ok(())
}

fn encode(request: &str) -> String {
    let words: Vec<&str> = request.split(' ').collect();
    let encoded = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), encoded.collect::<String>())
}
