lines <- readLines(file("stdin"))
mode <- lines[1]
depth <- function(n) if (n == 0) 0 else 1 + depth(n - 1)
if (mode == "hello") cat("héllo, wörld ✓\n")
if (mode == "sum") cat(format(sum(as.numeric(unlist(strsplit(lines[-1], " +")))), scientific = FALSE), "\n", sep = "")
if (mode == "crash") stop("crashed")
if (mode == "loop") while (TRUE) {}
if (mode == "deep") cat(depth(1000), "\n", sep = "")
if (mode == "hog") { held <- list(); while (TRUE) held[[length(held) + 1]] <- rep(1.5, 100000) }
