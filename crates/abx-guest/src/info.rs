//! `/abx/v1/activity`, `/abx/v1/info` and `/abx/v1/startup`.

use abx_protocol::private::{Activity, Info};
use abx_protocol::{ENVD_VERSION, GENERATION};
use http::{Response, StatusCode};

use crate::guest::Guest;
use crate::http::Body;
use crate::http::error::json;

pub(crate) fn activity(guest: &Guest) -> Response<Body> {
    let activity = Activity {
        active_calls: guest.activity.calls(),
        open_streams: guest.activity.streams(),
        processes: guest.processes.in_use() as u32,
        idle_seconds: guest.activity.idle_seconds(),
    };
    json(StatusCode::OK, &activity)
}

pub(crate) fn info(guest: &Guest) -> Response<Body> {
    let settings = guest.settings.borrow();
    let config = &guest.config;
    let info = Info {
        generation: GENERATION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        envd_version: ENVD_VERSION.to_owned(),
        sandbox_id: config.sandbox_id.clone(),
        template: config.template.clone(),
        // It may have been given another since.
        hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        capabilities: config.capabilities.clone(),
        user: settings.user.clone(),
        workdir: settings.workdir.clone(),
        shell: guest.shell().to_owned(),
        env: settings.env.clone(),
        uptime_seconds: guest.started.elapsed().as_secs_f64(),
    };
    json(StatusCode::OK, &info)
}

pub(crate) fn startup(guest: &Guest) -> Response<Body> {
    json(StatusCode::OK, &guest.startup.state())
}
