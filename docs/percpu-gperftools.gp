# Central traffic of gperftools' thread caches, counted and predicted: `gnuplot percpu-gperftools.gp` in this folder.
# Columns: workload, thread cache MiB, then calls in, objects in, calls out, objects out: counted, and predicted.
$runs << END
burst 3 35575 279733 69317 279217 34820 284632 69693 284113
burst 4 31036 259115 51164 258403 30120 263485 51318 262782
burst 6 23980 219281 33053 218430 23233 222175 33036 221361
burst 8 19154 182724 24358 181548 18778 186811 24398 185652
burst 16 13272 127071 16060 125215 13128 129005 16104 127132
burst 32 13272 127071 16060 125215 13128 129005 16104 127132
ring 3 64969 495963 236318 495957 62536 507236 236806 507228
ring 4 61110 479139 211932 479133 58955 493471 213431 493463
ring 6 55914 449099 163796 449093 53777 466272 166077 466264
ring 8 51155 417684 124413 417678 48650 434112 125602 434104
ring 16 35082 312562 58078 312556 33429 320245 58174 320237
ring 32 24597 220477 35246 220471 23961 227397 35495 227389
server 3 34774 392170 114586 392164 34647 389899 114174 389891
server 4 25979 273251 77280 273245 25878 267474 76567 267466
server 6 20679 206512 54989 206506 20765 206879 55218 206871
server 8 14583 130506 31794 130500 14767 134502 32150 134494
server 16 10289 79543 15418 79537 10361 81790 15529 81782
server 32 9875 73425 14039 73419 9965 74763 14252 74755
END
set terminal pngcairo noenhanced size 1100,420 font 'DejaVu Sans,10' background rgb 'white'
set output 'percpu-gperftools.png'
set border 3 lc rgb '#999999' lw 0.8
set tics nomirror out scale 0.5 textcolor rgb '#333333'
set grid y lt 1 lc rgb '#e6e6e6' lw 0.6
set logscale xy 2
set xrange [2.6:37]
set yrange [4096:1048576]
set xtics (3, 4, 6, 8, 16, 32)
set ytics ("4k" 4096, "16k" 16384, "64k" 65536, "256k" 262144, "1M" 1048576)
set xlabel 'thread cache, MiB' textcolor rgb '#333333'
set key left bottom samplen 1.5
set label 1 'Central lists of gperftools 2.10: counted (points), and predicted from the trace (lines)' at screen 0.02,0.965 font ',12'
set multiplot layout 1,3 margins 0.05,0.98,0.17,0.85 spacing 0.06
do for [w in "burst ring server"] {
	set title w offset 0,-0.6
	plot $runs using (strcol(1) eq w ? $2 : NaN):8 with lines lc rgb '#56B4E9' lw 1.5 title 'objects fetched', \
	     $runs using (strcol(1) eq w ? $2 : NaN):4 with points lc rgb '#0072B2' pt 7 ps 1.1 notitle, \
	     $runs using (strcol(1) eq w ? $2 : NaN):7 with lines lc rgb '#E69F00' lw 1.5 title 'fetches', \
	     $runs using (strcol(1) eq w ? $2 : NaN):3 with points lc rgb '#D55E00' pt 7 ps 1.1 notitle, \
	     $runs using (strcol(1) eq w ? $2 : NaN):9 with lines lc rgb '#8fd3bd' lw 1.5 title 'releases', \
	     $runs using (strcol(1) eq w ? $2 : NaN):5 with points lc rgb '#009E73' pt 7 ps 1.1 notitle
	unset label 1
}
unset multiplot
