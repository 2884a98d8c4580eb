use std::io::{self, Read};

fn depth(n: u64) -> u64 {
    if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
}

fn main() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let mut words = text.split_ascii_whitespace();
    match words.next().unwrap_or("") {
        "hello" => println!("héllo, wörld ✓"),
        "sum" => println!("{}", words.map(|w| w.parse::<i64>().unwrap()).sum::<i64>()),
        "crash" => panic!("crashed"),
        "loop" => loop { std::hint::black_box(0); },
        "deep" => println!("{}", depth(100_000)),
        "hog" => {
            let mut held = Vec::new();
            loop { held.push(vec![b'x'; 1_000_000]); }
        }
        _ => {}
    }
}
