//! What `latest` comes to.

use abx_source::GithubSettings;

use crate::world::World;

#[tokio::test]
async fn latest_is_a_literal_name_then_the_highest_release_then_the_default_branch() {
    let world = World::with(&[("v1.2.0", 12), ("v2.0.0-rc.1", 20)]);
    // The name, then the tags.
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("*v1.2.0 12".to_owned(), 2));
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("*v1.2.0 12".to_owned(), 0));
    world.publish("latest", 7, "hello");
    assert_eq!(world.costs("o/r@latest", &world.stale()).await, ("latest 7".to_owned(), 1));
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("latest 7".to_owned(), 0));
    world.github.remove("o/r", "latest");
    assert_eq!(world.picture("o/r@latest", &world.stale()).await, "*v1.2.0 12");
    for name in ["v1.2.0", "v2.0.0-rc.1"] {
        world.github.remove("o/r", name);
    }
    assert_eq!(world.picture("o/r@latest", &world.stale()).await, "default 1");
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("default 1".to_owned(), 0));
    let offline = GithubSettings { offline: true, ..world.settings() };
    assert_eq!(world.costs("o/r@latest", &offline).await, ("default 1".to_owned(), 0));
}
