//! `GET /metrics`: what the sandbox's own processes use, against the sandbox's own limits.

use std::cell::Cell;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{Response, StatusCode};

use crate::guest::Guest;
use crate::http::Body;
use crate::http::error::json;

const MIB: u64 = 1 << 20;

/// Remembers the last reading, so that each tells of the time since.
#[derive(Default)]
pub(crate) struct CpuMeter(Cell<Option<(Instant, u64)>>);

impl CpuMeter {
    /// Percent of `cores`, 0 at the first reading.
    fn percent(&self, ticks: u64, cores: f64) -> f64 {
        let now = Instant::now();
        let Some((then, before)) = self.0.replace(Some((now, ticks))) else { return 0.0 };
        let elapsed = now.duration_since(then).as_secs_f64();
        if elapsed <= 0.0 {
            return 0.0;
        }
        let used = ticks.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
        (used / elapsed / cores * 100.0).min(100.0)
    }
}

pub(crate) fn metrics(guest: &Guest) -> Response<Body> {
    let usage = Usage::read();
    let limits = guest.config.limits;
    let cores = limits.map_or_else(host_cores, |limits| limits.cpu.max(0.01));
    let memory = limits.map_or_else(host_memory, |limits| limits.memory_mb * MIB);
    let disk = rustix::fs::statvfs("/").ok();
    let blocks = |count: fn(&rustix::fs::StatVfs) -> u64| {
        disk.as_ref().map_or(0, |disk| count(disk).saturating_mul(disk.f_frsize))
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let answer = serde_json::json!({
        "ts": now,
        "cpu_count": cores.ceil() as u64,
        "cpu_used_pct": (guest.cpu.percent(usage.ticks, cores) * 100.0).round() / 100.0,
        "mem_total": memory,
        "mem_used": usage.memory,
        "mem_cache": 0,
        "mem_total_mib": memory / MIB,
        "mem_used_mib": usage.memory / MIB,
        "disk_used": blocks(|disk| disk.f_blocks.saturating_sub(disk.f_bfree)),
        "disk_total": blocks(|disk| disk.f_blocks),
    });
    json(StatusCode::OK, &answer)
}

/// Sums over all processes in sight.
#[derive(Default)]
struct Usage {
    /// Processor time, that of ended processes included.
    ticks: u64,
    /// Bytes resident; what processes share counts for each.
    memory: u64,
}

impl Usage {
    fn read() -> Self {
        let mut usage = Self::default();
        let Ok(entries) = std::fs::read_dir("/proc") else { return usage };
        for entry in entries.flatten() {
            if !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                continue;
            }
            let text = |file: &str| std::fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            let stat = text("stat");
            let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            // utime, stime, cutime, cstime
            usage.ticks += fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
            let pages = text("statm").split_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok());
            usage.memory += pages.unwrap_or(0) * rustix::param::page_size() as u64;
        }
        usage
    }
}

fn host_cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

fn host_memory() -> u64 {
    let sysinfo = rustix::system::sysinfo();
    sysinfo.totalram.saturating_mul(u64::from(sysinfo.mem_unit))
}
