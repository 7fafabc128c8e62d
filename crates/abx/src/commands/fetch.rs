use agent_sandbox::FetchOptions;
use agent_sandbox::core::Secret;

use crate::cli::fetch::FetchArgs;

impl From<&FetchArgs> for FetchOptions {
    fn from(args: &FetchArgs) -> Self {
        Self {
            token: args.token.as_deref().map(Secret::new),
            no_cache: args.no_cache,
            offline: args.offline,
            frozen: false,
        }
    }
}
