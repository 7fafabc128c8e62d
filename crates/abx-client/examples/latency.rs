//! How fast a sandbox's daemon answers: `latency SOCKET [ROUNDS]` prints medians and throughputs.

use std::io::Write;
use std::time::{Duration, Instant};

use abx_client::{Client, ClientError, ProcessEvent, ProcessRequest};
use tokio::io::AsyncReadExt;

const BYTES: u64 = 1 << 30;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let client = Client::new(arguments.next().ok_or("usage: latency SOCKET [ROUNDS]")?);
    let rounds = arguments.next().map_or(Ok(200), |rounds| rounds.parse())?;
    let mut out = std::io::stdout();

    let mut health = Vec::new();
    let mut exec = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..rounds {
        health.push(timed(async { client.health().await }).await?);
        exec.push(timed(async { run(&client, &["/bin/true"]).await.map(drop) }).await?);
        let started = Instant::now();
        std::process::Command::new("/bin/true").status()?;
        bare.push(started.elapsed());
    }
    writeln!(out, "health       {:?}", median(&mut health))?;
    writeln!(out, "/bin/true    {:?}, here {:?}", median(&mut exec), median(&mut bare))?;

    let started = Instant::now();
    let bytes = run(&client, &["head", "-c", &BYTES.to_string(), "/dev/zero"]).await?;
    writeln!(out, "stdout       {:.0} MB/s", rate(bytes, started.elapsed()))?;

    let started = Instant::now();
    let request = ProcessRequest {
        argv: ["sh", "-c", "cat >/dev/null"].map(str::to_owned).into(),
        stdin: true,
        ..ProcessRequest::default()
    };
    let mut stream = client.start(request).await?;
    let piece = bytes::Bytes::from(vec![7; 1 << 20]);
    for _ in 0..BYTES >> 20 {
        stream.send_stdin(piece.clone()).await?;
    }
    stream.close_stdin().await?;
    while stream.next().await?.is_some() {}
    writeln!(out, "stdin        {:.0} MB/s", rate(BYTES, started.elapsed()))?;

    let path = "/tmp/abx-latency";
    let started = Instant::now();
    client.upload(tokio::io::repeat(7).take(BYTES), path, None).await?;
    writeln!(out, "upload       {:.0} MB/s", rate(BYTES, started.elapsed()))?;
    let started = Instant::now();
    let bytes = client.download(path, None).await?.copy_to(tokio::io::sink()).await?;
    writeln!(out, "download     {:.0} MB/s", rate(bytes, started.elapsed()))?;
    client.remove(path, None).await?;
    Ok(())
}

async fn run(client: &Client, argv: &[&str]) -> Result<u64, ClientError> {
    let argv = argv.iter().map(|&argument| argument.to_owned()).collect();
    let mut stream = client.start(ProcessRequest { argv, ..ProcessRequest::default() }).await?;
    let mut bytes = 0;
    while let Some(event) = stream.next().await? {
        if let ProcessEvent::Stdout(piece) = event {
            bytes += piece.len() as u64;
        }
    }
    Ok(bytes)
}

async fn timed(work: impl Future<Output = Result<(), ClientError>>) -> Result<Duration, ClientError> {
    let started = Instant::now();
    work.await?;
    Ok(started.elapsed())
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn rate(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 / 1e6 / elapsed.as_secs_f64()
}
