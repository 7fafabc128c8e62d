//! `port`: whether something listens, and what it answers.

use std::time::{Duration, Instant};

use abx_client::{Client, ClientError};
use abx_spec::suite::{HttpWish, PortCheck};
use abx_spec::{At, Place};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, header};

use super::finding::{Finding, Unseen};

const PAUSE: Duration = Duration::from_millis(100);
/// More than this of an answer is not read.
const MOST: usize = 4 << 20;

pub(super) async fn check(client: &Client, check: &PortCheck) -> Result<Finding, Unseen> {
    let until = Instant::now() + Duration::from_secs_f64(check.within);
    loop {
        let finding = look(client, check).await?;
        if finding.failures.is_empty() || Instant::now() >= until {
            return Ok(finding);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look(client: &Client, check: &PortCheck) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let (port, place) = (check.port.value, &check.port.place);
    let tunnel = match client.tunnel(port).await {
        Err(ClientError::PortClosed { .. }) => {
            let wanted = format!("somebody who listens within {} s", check.within);
            finding.miss(place, format!("port {port}"), wanted, "nobody".to_owned());
            return Ok(finding);
        }
        tunnel => tunnel?,
    };
    let Some(wish) = &check.http else { return Ok(finding) };
    let limit = Duration::from_secs_f64(check.within);
    match tokio::time::timeout(limit, ask(tunnel.into_inner(), port, wish)).await {
        Ok(Ok((status, body))) => judge(&mut finding, wish, place, status, &body),
        Ok(Err(error)) => finding.miss(place, "http", "an answer".to_owned(), error),
        Err(_) => {
            finding.miss(place, "http", format!("an answer within {} s", check.within), "none".to_owned())
        }
    }
    Ok(finding)
}

async fn ask(
    connection: hyper::upgrade::Upgraded,
    port: u16,
    wish: &HttpWish,
) -> Result<(StatusCode, Bytes), String> {
    let (mut sender, connection) = http1::handshake(connection).await.map_err(|error| error.to_string())?;
    let driver = tokio::spawn(connection);
    let request = Request::builder()
        .method(wish.method.as_str())
        .uri(&wish.path)
        .header(header::HOST, format!("localhost:{port}"))
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST).collect().await;
        Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
    };
    let answer = answer.await;
    driver.abort();
    answer
}

fn judge(finding: &mut Finding, wish: &HttpWish, place: &Place, status: StatusCode, body: &Bytes) {
    match &wish.status {
        Some(At { value, place }) if *value != status.as_u16() => {
            finding.miss(place, "http status", value.to_string(), status.as_u16().to_string());
        }
        None if !status.is_success() => {
            finding.miss(place, "http status", "200 to 299".to_owned(), status.as_u16().to_string());
        }
        _ => {}
    }
    finding.text(&wish.body, "http body", &String::from_utf8_lossy(body));
}
