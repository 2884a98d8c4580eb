SELECT coalesce(sum(number), 0) FROM numbers;
