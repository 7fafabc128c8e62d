//! The order of stages, and whether there is one.

use super::Link;

/// Stages that wait for each other, in the order in which they do.
pub(super) fn find(links: &[Link]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = links.iter().map(|link| link.after.len()).collect();
    let mut waited_by: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    for (stage, link) in links.iter().enumerate() {
        link.after.iter().for_each(|before| waited_by[*before].push(stage));
    }
    let mut ready: Vec<usize> = (0..links.len()).filter(|stage| waiting[*stage] == 0).collect();
    while let Some(done) = ready.pop() {
        for &stage in &waited_by[done] {
            waiting[stage] -= 1;
            if waiting[stage] == 0 {
                ready.push(stage);
            }
        }
    }
    // Every stage that is left waits for another that is left: following them comes round.
    let mut stage = waiting.iter().position(|count| *count > 0)?;
    let mut place = vec![None; links.len()];
    let mut path = Vec::new();
    while place[stage].is_none() {
        place[stage] = Some(path.len());
        path.push(stage);
        stage = links[stage].after.iter().copied().find(|before| waiting[*before] > 0)?;
    }
    Some(path.split_off(place[stage]?))
}

/// What `target` needs, each stage behind those it waits for. There is no cycle.
pub(super) fn order(links: &[Link], target: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; links.len()];
    // A stage, and how many of those it waits for have been visited.
    let mut stack = vec![(target, 0)];
    while let Some((stage, visited)) = stack.pop() {
        let Some(link) = links.get(stage) else { continue };
        if visited == 0 && std::mem::replace(&mut seen[stage], true) {
            continue;
        }
        match link.after.get(visited) {
            Some(&before) => {
                stack.push((stage, visited + 1));
                if !seen[before] {
                    stack.push((before, 0));
                }
            }
            None => order.push(stage),
        }
    }
    order
}
