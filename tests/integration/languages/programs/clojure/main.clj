(defn depth [n] (if (zero? n) 0 (inc (depth (dec n)))))

(let [[mode & numbers] (re-seq #"\S+" (slurp *in*))]
  (case mode
    "hello" (println "héllo, wörld ✓")
    "sum" (println (reduce + (map #(Long/parseLong %) numbers)))
    "crash" (throw (Exception. "crashed"))
    "loop" (loop [] (recur))
    "deep" (println (depth 100000))
    "hog" (loop [held []] (recur (conj held (byte-array 1000000))))))
