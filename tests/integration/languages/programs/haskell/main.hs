import qualified Data.ByteString.Char8 as B
import qualified Data.Map.Strict as M
import Control.Monad (forever)
import Data.IORef
import Data.Maybe (mapMaybe)

depth :: Int -> Int
depth 0 = 0
depth n = 1 + depth (n - 1)

main :: IO ()
main = do
  (mode : rest) <- B.words <$> B.getContents
  case B.unpack mode of
    "hello" -> putStrLn "héllo, wörld ✓"
    "sum" -> print (sum (map fst (mapMaybe B.readInt rest)))
    "crash" -> error "crashed"
    "loop" -> newIORef (0 :: Int) >>= \turns -> forever (modifyIORef' turns (+ 1))
    "deep" -> print (depth 100000)
    "hog" -> print (M.size (M.fromList [(n, show n) | n <- [1 .. 1000000000 :: Int]]))
    _ -> return ()
