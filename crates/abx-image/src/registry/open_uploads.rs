//! Uploads that are under way, so that one who gives up can tell the registry.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Method, Url};

use super::ask::Ask;
use super::endpoint::Endpoint;

/// How long a registry is told for. It finds out by itself where it does not hear of it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The uploads of a push. Whoever drops the push, and wants to leave nothing of it, calls [`OpenUploads::give_up`].
#[derive(Default)]
pub struct OpenUploads {
    endpoint: Mutex<Option<Arc<Endpoint>>>,
}

impl OpenUploads {
    pub(super) fn of(&self, endpoint: &Arc<Endpoint>) {
        *lock(&self.endpoint) = Some(Arc::clone(endpoint));
    }

    /// Has the registry forget what was begun and is not finished.
    pub async fn give_up(&self) {
        let Some(endpoint) = lock(&self.endpoint).take() else { return };
        let forget = async {
            for url in endpoint.uploads.all() {
                let _ = endpoint.ask(Ask::new(Method::DELETE, url)).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, forget).await;
    }
}

/// Where the uploads of an endpoint are, by number.
#[derive(Default)]
pub(super) struct Locations {
    by_number: Mutex<BTreeMap<u64, Url>>,
}

impl Locations {
    pub(super) fn add(&self, location: Url) -> u64 {
        let mut locations = lock(&self.by_number);
        let number = locations.last_key_value().map_or(0, |(number, _)| number + 1);
        locations.insert(number, location);
        number
    }

    pub(super) fn change(&self, number: u64, location: Url) {
        lock(&self.by_number).insert(number, location);
    }

    pub(super) fn remove(&self, number: u64) {
        lock(&self.by_number).remove(&number);
    }

    fn all(&self) -> Vec<Url> {
        lock(&self.by_number).values().cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
